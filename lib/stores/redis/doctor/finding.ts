/** Something that was looked at, and how it is. */
export interface Finding {
  /** What was looked at, in a word or two. */
  readonly check: string;
  /**
   * `problem`: locks can't be taken or relied on, or are waited for far too long. `warning`: something to know, or to do
   * when it suits.
   */
  readonly level: 'ok' | 'warning' | 'problem';
  /** How it is, and unless it is well what to do about it. No secrets. */
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
