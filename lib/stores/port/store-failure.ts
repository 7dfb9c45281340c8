import { LockStoreError } from './lock-store.js';
import { adviceOn, type Remedy } from './remedies.js';

/** What a session rejected with. A store of the user's may throw anything; then nothing is certain, and it may pass. */
export function storeFailure(error: unknown): LockStoreError {
  if (error instanceof LockStoreError) return error;
  return new LockStoreError(messageOf(error), { inDoubt: true, retryable: true, cause: error });
}

/**
 * The connection is down, so the request was not sent.
 *
 * @param store what people call it
 * @param isAnswer whether somebody is there who refuses the connection, such as for a wrong password
 * @param remedies for what its servers answer
 * @param why what people are told of the cause
 */
export function notConnectedTo(
  store: string,
  cause: Error | undefined,
  isAnswer: boolean,
  remedies: readonly Remedy[],
  why = cause?.message,
): LockStoreError {
  return new LockStoreError(`${store} is not connected${why === undefined ? '' : ` (${why})`}`, {
    inDoubt: false,
    retryable: true,
    unreachable: !isAnswer,
    remedy: adviceOn(textOf(cause, why), remedies),
    cause,
  });
}

/** The request was sent, and nobody knows what became of it. */
export function answerLost(
  store: string,
  cause: unknown,
  remedies: readonly Remedy[],
  why = messageOf(cause),
): LockStoreError {
  return new LockStoreError(`the connection to ${store} was lost before its answer (${why})`, {
    inDoubt: true,
    retryable: true,
    unreachable: true,
    remedy: adviceOn(textOf(cause, why), remedies),
    cause,
  });
}

/** What a cause is recognised by: some say in their code only what they are. */
function textOf(cause: unknown, why: string | undefined): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return `${why ?? ''} ${messageOf(cause)} ${code}`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Makes a request at once, and fails with a `LockStoreError` only. */
export async function asked<T>(request: () => PromiseLike<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    throw storeFailure(error);
  }
}

/** A store of the user's may also answer what makes no sense: nobody knows what it has done, and asking again won't help. */
export function unusableReply(error: unknown): LockStoreError {
  return new LockStoreError(messageOf(error), { inDoubt: true, retryable: false, cause: error });
}
