import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import * as exported from '../../lib/index.js';

const root = join(import.meta.dirname, '../..');

/** Names that an index.ts of lib exports: values and types. */
async function declaredExports(file = 'index.ts'): Promise<{ values: string[]; types: string[] }> {
  const text = await readFile(join(root, 'lib', file), 'utf8');
  const values: string[] = [];
  const types: string[] = [];
  for (const statement of ts.createSourceFile('index.ts', text, ts.ScriptTarget.Latest).statements) {
    if (!ts.isExportDeclaration(statement)) throw new Error(`${file} contains only exports`);
    const clause = statement.exportClause;
    if (!clause || !ts.isNamedExports(clause)) throw new Error(`${file} names what it exports`);
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
      'InjectLockAdmin',
      'InjectLockService',
      'InvalidCursorError',
      'LockAdmin',
      'LockClosedError',
      'LockConflictError',
      'LockError',
      'LockLostError',
      'LockNotHeldError',
      'LockOptionsError',
      'LockQueueFullError',
      'LockService',
      'LockStoreError',
      'LockTimeoutError',
      'LockUnavailableError',
      'LockUnsupportedError',
      'LockUpgradeError',
      'Locked',
      'MemoryLockStore',
      'backoff',
      'getLockAdminToken',
      'getLockServiceToken',
    ];
    expect((await declaredExports()).values).toEqual(values);
    expect(Object.keys(exported).sort()).toEqual(values);
  });

  it('have every request and reply of the port, for custom stores', async () => {
    const { types } = await declaredExports();
    const text = await readFile(join(root, 'lib/stores/port/lock-store.ts'), 'utf8');
    const names = [...text.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(15);
    expect(names.filter((name) => !types.includes(name))).toEqual([]);
  });

  it('are exactly these types', async () => {
    expect((await declaredExports()).types).toEqual([
      'AcquireOutcome',
      'AcquireReply',
      'AcquireRequest',
      'AcquireTrace',
      'Backoff',
      'BreakReply',
      'DistributedLockModuleExtras',
      'DistributedLockOptions',
      'ExponentialOptions',
      'Grant',
      'HeldLock',
      'HoldTrace',
      'ListKeysRequest',
      'ListedKeys',
      'LockAbortedEvent',
      'LockBoard',
      'LockBreakOptions',
      'LockBreakOutcome',
      'LockBrokenEvent',
      'LockClock',
      'LockClosedEvent',
      'LockErrorCode',
      'LockEvent',
      'LockEventMessage',
      'LockGrantedEvent',
      'LockHandle',
      'LockHolder',
      'LockHttpOptions',
      'LockInfo',
      'LockKey',
      'LockList',
      'LockListOptions',
      'LockLocalEvent',
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
      'LockRpcOptions',
      'LockSkippedEvent',
      'LockStatus',
      'LockStore',
      'LockStoreClient',
      'LockStoreSession',
      'LockTimeoutEvent',
      'LockTimeoutHolder',
      'LockTimers',
      'LockUnavailableEvent',
      'LockWaiter',
      'LockedDecorator',
      'LockedOptions',
      'LockedWork',
      'LostLock',
      'MonotonicMs',
      'NamedHold',
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
      'StoreAvailableEvent',
      'StoreConnection',
      'StoreModuleOptions',
      'StoreRequestKind',
      'StoreRequestMessage',
      'StoreStatus',
      'StoreUnavailableEvent',
      'StoredHold',
      'StoredLock',
      'StoredWaiter',
      'WaitingCall',
      'WallClockMs',
    ]);
  });

  it.each([
    ['health', ['LockHealthIndicator'], ['LockHealth', 'LockHealthThresholds']],
    [
      'leader',
      [
        'InjectLeaderElection',
        'LeaderElection',
        'LeaderElectionModule',
        'OnElected',
        'OnRevoked',
        'getLeaderElectionToken',
      ],
      [
        'ElectedEvent',
        'LeaderElectionOptions',
        'Leadership',
        'LeadershipEvent',
        'RevocationReason',
        'RevokedEvent',
      ],
    ],
    ['prometheus', ['LockPrometheusModule'], ['LockPrometheusOptions']],
    ['opentelemetry', ['LockOpenTelemetryModule'], ['LockOpenTelemetryOptions']],
  ])('of %s are these', async (entry, values, types) => {
    expect(await declaredExports(`${entry}/index.ts`)).toEqual({ values, types });
  });
});
