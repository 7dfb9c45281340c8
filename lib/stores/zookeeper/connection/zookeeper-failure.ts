import { LockStoreError } from '../../port/lock-store.js';
import { adviceOn, messageOf, notConnectedTo } from '../../port/store-failure.js';
import { zooKeeperRemedies } from './zookeeper-remedies.js';
import { CODE, ZooKeeperError } from './zookeeper-error.js';

/** What it refuses whoever asks again. */
const FINAL: readonly number[] = [
  CODE.noAuth,
  CODE.authFailed,
  CODE.unimplemented,
  CODE.invalidAcl,
  -5,
  -8,
  -108,
];

/** The connection is down, so the request was not sent. */
export function notConnected(cause: Error | undefined): LockStoreError {
  const isRefusal = cause instanceof ZooKeeperError;
  return notConnectedTo(
    'ZooKeeper',
    cause,
    isRefusal || (cause instanceof LockStoreError && !cause.unreachable),
    zooKeeperRemedies,
  );
}

/** What a failed request tells about whether it was carried out. A request that ZooKeeper refuses has changed nothing. */
export function zooKeeperFailure(error: unknown): LockStoreError {
  if (error instanceof LockStoreError) return error;
  if (error instanceof ZooKeeperError) {
    return new LockStoreError(`ZooKeeper answered "${error.message}"`, {
      remedy: adviceOn(error.message, zooKeeperRemedies),
      inDoubt: false,
      retryable: !FINAL.includes(error.code),
      cause: error,
    });
  }
  return new LockStoreError(`the answer of ZooKeeper could not be used (${messageOf(error)})`, {
    inDoubt: true,
    retryable: true,
    cause: error,
  });
}

/** Fails with a `LockStoreError` only. */
export async function answered<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    throw zooKeeperFailure(error);
  }
}
