import { LockStoreError } from './lock-store.js';

/** What a session rejected with. A store of the user's may throw anything; then nothing is certain, and it may pass. */
export function storeFailure(error: unknown): LockStoreError {
  if (error instanceof LockStoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new LockStoreError(message, { inDoubt: true, retryable: true, cause: error });
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
  const { message } = storeFailure(error);
  return new LockStoreError(message, { inDoubt: true, retryable: false, cause: error });
}
