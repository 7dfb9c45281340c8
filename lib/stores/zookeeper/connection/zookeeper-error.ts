/** Answers of ZooKeeper that are told apart here. */
export const CODE = {
  unimplemented: -6,
  noNode: -101,
  noAuth: -102,
  badVersion: -103,
  nodeExists: -110,
  invalidAcl: -114,
  authFailed: -115,
  quotaExceeded: -125,
} as const;

const MEANINGS: Readonly<Record<number, string>> = {
  [-1]: 'system error',
  [-4]: 'connection loss',
  [-5]: 'marshalling error',
  [-6]: 'unimplemented',
  [-7]: 'operation timeout',
  [-8]: 'bad arguments',
  [-101]: 'no node',
  [-102]: 'no auth',
  [-103]: 'bad version',
  [-108]: 'no children for ephemerals',
  [-110]: 'node exists',
  [-111]: 'not empty',
  [-112]: 'session expired',
  [-113]: 'invalid callback',
  [-114]: 'invalid ACL',
  [-115]: 'auth failed',
  [-118]: 'session moved',
  [-119]: 'not read-only',
  [-122]: 'request timeout',
  [-125]: 'quota exceeded',
  [-127]: 'throttled',
};

/** ZooKeeper answered that it has not done what it was asked for. */
export class ZooKeeperError extends Error {
  override readonly name = 'ZooKeeperError';

  /** @param part which of the operations of one transaction failed, from 0 */
  constructor(
    readonly code: number,
    readonly part?: number,
  ) {
    super(`${MEANINGS[code] ?? 'error'} (${String(code)})`);
  }
}

/** Whether ZooKeeper answered with that code. */
export function isAnswer(error: unknown, ...codes: readonly number[]): boolean {
  return error instanceof ZooKeeperError && codes.includes(error.code);
}
