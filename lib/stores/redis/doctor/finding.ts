/** The result of one check. */
export interface Finding {
  /** The name of the check, in a word or two. */
  readonly check: string;
  /**
   * `problem`: locks cannot be acquired or relied on, or waiting for them takes far too long. `warning`: worth knowing, or
   * worth doing at some point.
   */
  readonly level: 'ok' | 'warning' | 'problem';
  /** The result, and unless it is good what to do about it. No secrets. */
  readonly text: string;
}

export function ok(check: string, text: string): Finding {
  return { check, level: 'ok', text };
}

export function warning(check: string, text: string): Finding {
  return { check, level: 'warning', text };
}

export function problem(check: string, text: string): Finding {
  return { check, level: 'problem', text };
}
