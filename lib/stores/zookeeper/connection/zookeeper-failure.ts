import { LockStoreError } from '../../port/lock-store.js';
import { adviceOn, messageOf, notConnectedTo, type Remedy } from '../../port/store-failure.js';
import { ZooKeeperError } from './protocol.js';

/** Error codes that a retry does not help: marshalling, unimplemented, bad arguments, rights, children, ACL, login. */
const PERMANENT: readonly number[] = [-5, -6, -8, -102, -108, -114, -115];

/** What to do about errors that ZooKeeper replies with. */
export const zooKeeperRemedies: readonly Remedy[] = [
  {
    says: /no node \(-101\)/,
    advice:
      'Nodes below the path of locks were deleted: the process creates them again as soon as it is connected again.',
  },
  {
    says: /no auth \(-102\)/,
    advice:
      'The user may not do this below the path of locks: give it the rights to read, write, create and delete there, or check `auth`.',
  },
  { says: /auth failed \(-115\)/, advice: 'Check `auth`, the user and password of zookeeperStore.' },
  { says: /unimplemented \(-6\)/, advice: 'Locks need ZooKeeper 3.5.3 or newer.' },
  {
    says: /invalid ACL \(-114\)/,
    advice:
      'The servers do not know the identity of the client, to which nodes of locks are to belong: set ssl.clientAuth=need on the servers, so that they read the certificate in `tls`, or set `auth`, a user and password.',
  },
  { says: /quota exceeded \(-125\)/, advice: 'The path of locks has a quota: raise it.' },
];

/** There is no connection, so the request was not sent. */
export function notConnected(cause: Error | undefined): LockStoreError {
  const isRejected =
    cause instanceof ZooKeeperError || (cause instanceof LockStoreError && !cause.unreachable);
  return notConnectedTo('ZooKeeper', cause, isRejected, zooKeeperRemedies);
}

/** The error of a failed request, with whether it may have been carried out. */
export function zooKeeperFailure(error: unknown): LockStoreError {
  if (error instanceof LockStoreError) return error;
  if (error instanceof ZooKeeperError) {
    return new LockStoreError(`ZooKeeper answered "${error.message}"`, {
      remedy: adviceOn(error.message, zooKeeperRemedies),
      inDoubt: false,
      retryable: !PERMANENT.includes(error.code),
      cause: error,
    });
  }
  return new LockStoreError(`the answer of ZooKeeper could not be used (${messageOf(error)})`, {
    inDoubt: true,
    retryable: true,
    cause: error,
  });
}

/** Rejects with nothing but a `LockStoreError`. */
export async function answered<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    throw zooKeeperFailure(error);
  }
}
