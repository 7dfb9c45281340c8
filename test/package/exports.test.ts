import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import * as exported from '../../lib/index.js';

const root = join(import.meta.dirname, '../..');

/** Names that lib/index.ts exports, in the two kinds that a user can tell apart. */
async function declaredExports(): Promise<{ values: string[]; types: string[] }> {
  const text = await readFile(join(root, 'lib/index.ts'), 'utf8');
  const values: string[] = [];
  const types: string[] = [];
  for (const statement of ts.createSourceFile('index.ts', text, ts.ScriptTarget.Latest).statements) {
    if (!ts.isExportDeclaration(statement)) throw new Error('lib/index.ts holds nothing but exports');
    const clause = statement.exportClause;
    if (!clause || !ts.isNamedExports(clause)) throw new Error('lib/index.ts names what it exports');
    for (const { name, isTypeOnly } of clause.elements) {
      (statement.isTypeOnly || isTypeOnly ? types : values).push(name.text);
    }
  }
  return { values: values.sort(), types: types.sort() };
}

describe('exports', () => {
  it('are exactly these values', async () => {
    const values = [
      'DistributedLockModule',
      'InjectLockService',
      'LockClosedError',
      'LockError',
      'LockLostError',
      'LockNotHeldError',
      'LockOptionsError',
      'LockQueueFullError',
      'LockService',
      'LockStoreError',
      'LockTimeoutError',
      'LockUnavailableError',
      'LockUpgradeError',
      'Locked',
      'MemoryLockStore',
      'exponential',
      'fixed',
      'getLockServiceToken',
    ];
    expect((await declaredExports()).values).toEqual(values);
    expect(Object.keys(exported).sort()).toEqual(values);
  });

  it('are exactly these types', async () => {
    expect((await declaredExports()).types).toEqual([
      'AskReply',
      'AskRequest',
      'Backoff',
      'DistributedLockModuleExtras',
      'DistributedLockOptions',
      'ExponentialOptions',
      'Grant',
      'LockClock',
      'LockDegradedEvent',
      'LockErrorCode',
      'LockEvent',
      'LockGrantedEvent',
      'LockHandle',
      'LockHolder',
      'LockHttpOptions',
      'LockInfo',
      'LockKey',
      'LockLostEvent',
      'LockLostReason',
      'LockOptions',
      'LockProcess',
      'LockQueueFullEvent',
      'LockQueuedEvent',
      'LockReleasedEvent',
      'LockRenewalFailedEvent',
      'LockRenewedEvent',
      'LockRetryOptions',
      'LockStore',
      'LockStoreClient',
      'LockStoreSession',
      'LockTimeoutEvent',
      'LockTimers',
      'LockUnavailableEvent',
      'LockWaiter',
      'LockedDecorator',
      'LockedOptions',
      'LockedWork',
      'MonotonicMs',
      'OnBusy',
      'OwnerId',
      'OwnerRequest',
      'PushedGrant',
      'QuorumModuleOptions',
      'RaiseRequest',
      'RedisClusterOptions',
      'RedisConnection',
      'RedisModuleOptions',
      'RedisServerOptions',
      'ReleaseOutcome',
      'ReleaseReply',
      'RenewReply',
      'RenewRequest',
      'ReplicaOptions',
      'ReserveReply',
      'ReserveRequest',
      'StoreModuleOptions',
      'StoredHold',
      'StoredLock',
      'StoredWaiter',
      'WallClockMs',
    ]);
  });
});
