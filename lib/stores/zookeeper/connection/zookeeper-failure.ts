import { LockStoreError } from '../../port/lock-store.js';
import { adviceOn, notConnectedTo, type Remedy } from '../../port/store-failure.js';

/** Error codes that the store distinguishes. */
export const CODE = { noNode: -101, noAuth: -102, nodeExists: -110 } as const;

const MEANINGS: Readonly<Record<number, string>> = {
  [-1]: 'system error',
  [-4]: 'connection loss',
  [-5]: 'marshalling error',
  [-6]: 'unimplemented',
  [-7]: 'operation timeout',
  [-8]: 'bad arguments',
  [CODE.noNode]: 'no node',
  [CODE.noAuth]: 'no auth',
  [-103]: 'bad version',
  [-108]: 'no children for ephemerals',
  [CODE.nodeExists]: 'node exists',
  [-111]: 'not empty',
  [-112]: 'session expired',
  [-113]: 'invalid callback',
  [-114]: 'invalid ACL',
  [-115]: 'auth failed',
  [-118]: 'session moved',
  [-119]: 'not read-only',
  [-120]: 'ephemeral node on a local session',
  [-122]: 'request timeout',
  [-125]: 'quota exceeded',
  [-127]: 'throttled',
};

/** Error codes that a retry does not help: marshalling, unimplemented, bad arguments, rights, children, ACL, login,
 * local sessions. */
const PERMANENT: readonly number[] = [-5, -6, -8, -102, -108, -114, -115, -120];

/** Remedies for errors that ZooKeeper replies with. */
export const zooKeeperRemedies: readonly Remedy[] = [
  {
    says: /no node \(-101\)/,
    advice:
      'Nodes below the path of locks were deleted: the process creates them again once it has reconnected.',
  },
  {
    says: /no auth \(-102\)/,
    advice:
      'The user may not do this below the path of locks: give it the rights to read, write, create and delete there, or check `auth`.',
  },
  { says: /auth failed \(-115\)/, advice: 'Check `auth`, the user and password of zookeeperStore.' },
  { says: /unimplemented \(-6\)/, advice: 'Locks need ZooKeeper 3.8 or newer.' },
  {
    says: /invalid ACL \(-114\)/,
    advice:
      'The servers do not know the identity of the client, which must own the nodes of locks: set ssl.clientAuth=need on the servers, so that they read the certificate in `tls`, or set `auth`, a user and password.',
  },
  {
    says: /local session \(-120\)/,
    advice:
      'The servers give clients local sessions, which can hold no locks: set localSessionsUpgradingEnabled=true on all of them, or localSessionsEnabled=false.',
  },
  {
    says: /before it opened a session/,
    advice:
      'It may have too many connections from this machine: raise `maxClientCnxns` (for each address, 60 unless set), or close some. Or only one side uses TLS. The log of the server shows why.',
  },
  { says: /quota exceeded \(-125\)/, advice: 'The path of locks has a quota: raise it.' },
];

/** ZooKeeper rejected a request, which has changed nothing. */
export class ZooKeeperError extends LockStoreError {
  /** @param part index of the operation that failed in a transaction */
  constructor(
    readonly code: number,
    readonly part?: number,
    readonly meaning = `${MEANINGS[code] ?? 'error'} (${code})`,
  ) {
    super(`ZooKeeper answered "${meaning}"`, {
      remedy: adviceOn(meaning, zooKeeperRemedies),
      inDoubt: false,
      retryable: !PERMANENT.includes(code),
    });
  }
}

/** A request that the server would reject by closing the connection. It was not sent. */
export class RequestTooLongError extends LockStoreError {
  constructor(bytes: number, most: number) {
    super(`the request has ${String(bytes)} bytes, and ZooKeeper accepts ${String(most)} (jute.maxbuffer)`, {
      remedy: 'Acquire fewer keys in one call, or use shorter keys and labels.',
      inDoubt: false,
      retryable: false,
    });
  }
}

/** Whether ZooKeeper replied with one of these error codes. */
export function hasCode(error: unknown, ...codes: readonly number[]): boolean {
  return error instanceof ZooKeeperError && codes.includes(error.code);
}

/** Resolves with undefined if ZooKeeper replies with this error code. */
export async function unless<T>(code: number, reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply;
  } catch (error) {
    if (hasCode(error, code)) return undefined;
    throw error;
  }
}

/** There is no connection, so the request was not sent. */
export function notConnected(cause: Error | undefined): LockStoreError {
  const isRejected = cause instanceof LockStoreError && !cause.unreachable;
  const why = cause instanceof ZooKeeperError ? cause.meaning : cause?.message;
  return notConnectedTo('ZooKeeper', cause, isRejected, zooKeeperRemedies, why);
}
