/** The result of one check. */
export interface Finding {
  /** The name of the check, in a word or two. */
  readonly check: string;
  /**
   * `problem`: locks can't be acquired or relied on, or waiting for them takes far too long. `warning`: worth knowing
   * or fixing.
   */
  readonly level: 'ok' | 'warning' | 'problem';
  /** The result and, unless it is good, a remedy. No secrets. */
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

/** The times of several requests, one after the other, ms. */
export async function latencyOf(
  request: () => Promise<unknown>,
  count: number,
): Promise<{ readonly median: number; readonly longest: number }> {
  const times: number[] = [];
  while (times.length < count) {
    const startedAt = performance.now();
    await request();
    times.push(performance.now() - startedAt);
  }
  times.sort((one, other) => one - other);
  return { median: times[Math.floor(count / 2)] ?? 0, longest: times.at(-1) ?? 0 };
}
