import { isPromiseLike } from '../../common/pending-reply.js';

/**
 * Calls a listener of the user's. What it throws, or rejects with if it is an async function, reaches nobody but
 * `failed`: nobody else would handle it, and Node ends a process for that.
 */
export function callListener(listener: () => unknown, failed: (error: unknown) => void): void {
  try {
    const outcome = listener();
    if (isPromiseLike(outcome)) void Promise.resolve(outcome).then(undefined, failed);
  } catch (error) {
    failed(error);
  }
}

/** What was thrown, and where: without that nobody finds the listener, since nothing else tells of the error. */
export function textOf(error: unknown): string {
  try {
    return `${String(error)}${placeOf(error)}`;
  } catch {
    return 'something that has no text';
  }
}

/** The innermost call of its stack. */
function placeOf(error: unknown): string {
  const stack: unknown = error instanceof Error ? error.stack : undefined;
  const [, place] = (typeof stack === 'string' ? /\n\s+(at [^\n]+)/.exec(stack) : null) ?? [];
  return place === undefined ? '' : `, ${place}`;
}
