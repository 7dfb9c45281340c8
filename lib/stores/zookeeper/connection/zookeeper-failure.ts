import { LockStoreError } from '../../port/lock-store.js';
import { messageOf, notConnectedTo } from '../../port/store-failure.js';
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

const REMEDIES: Readonly<Record<number, string>> = {
  [CODE.noNode]:
    ': nodes below the path of locks were deleted. The process creates them again as soon as it is connected again',
  [CODE.noAuth]:
    ': the user may not do this below the path of locks. Give it the rights to read, write, create and delete there, or check `auth`',
  [CODE.authFailed]: ': check `auth`, the user and password of zookeeperStore',
  [CODE.unimplemented]: ': locks need ZooKeeper 3.5.3 or newer',
  [CODE.invalidAcl]:
    ': the servers do not know the identity of the client, to which nodes of locks are to belong. Set ssl.clientAuth=need on ' +
    'the servers, so that they read the certificate in `tls`, or set `auth`, a user and password',
  [CODE.quotaExceeded]: ': the path of locks has a quota; raise it',
};

/** The connection is down, so the request was not sent. */
export function notConnected(cause: Error | undefined): LockStoreError {
  const isRefusal = cause instanceof ZooKeeperError;
  return notConnectedTo(
    'ZooKeeper',
    cause,
    isRefusal || (cause instanceof LockStoreError && !cause.unreachable),
    isRefusal ? cause.message + remedyFor(cause) : cause?.message,
  );
}

/** What a failed request tells about whether it was carried out. A request that ZooKeeper refuses has changed nothing. */
export function zooKeeperFailure(error: unknown): LockStoreError {
  if (error instanceof LockStoreError) return error;
  if (error instanceof ZooKeeperError) {
    return new LockStoreError(`ZooKeeper answered "${error.message}"${remedyFor(error)}`, {
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

function remedyFor({ code }: ZooKeeperError): string {
  return REMEDIES[code] ?? '';
}
