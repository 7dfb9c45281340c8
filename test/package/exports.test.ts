import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import * as exported from '../../lib/index.js';
import * as store from '../../lib/stores/port/index.js';

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
      'LockAdmin',
      'LockClosedError',
      'LockConflictError',
      'LockError',
      'LockLostError',
      'LockNotHeldError',
      'LockOptionsError',
      'LockQueueFullError',
      'LockService',
      'LockTimeoutError',
      'LockUnavailableError',
      'LockUnsupportedError',
      'LockUpgradeError',
      'Locked',
      'MemoryLockStore',
      'backoff',
      'currentLock',
      'getLockAdminToken',
      'getLockServiceToken',
    ];
    expect((await declaredExports()).values).toEqual(values);
    expect(Object.keys(exported).sort()).toEqual(values);
  });

  it('of store are all that a custom store implements, and none of them is exported twice', async () => {
    expect(Object.keys(store).sort()).toEqual(['InvalidCursorError', 'LockStoreError']);
    const text = await readFile(join(root, 'lib/stores/port/lock-store.ts'), 'utf8');
    const names = [...text.matchAll(/^export (?:class|interface|type) (\w+)/gm)].map(([, name = '']) => name);
    const main = await declaredExports();
    // A session reports its connections, and an application reads them in the status.
    expect([...main.values, ...main.types].filter((name) => names.includes(name))).toEqual([
      'StoreConnection',
    ]);
  });

  it('are exactly these types', async () => {
    expect((await declaredExports()).types).toEqual([
      'AcquireOutcome',
      'AcquireTrace',
      'Backoff',
      'DistributedLockAsyncOptions',
      'DistributedLockModuleExtras',
      'DistributedLockOptions',
      'ExponentialOptions',
      'HeldLock',
      'HoldTrace',
      'LockAbortedEvent',
      'LockBreakOptions',
      'LockBreakOutcome',
      'LockBrokenEvent',
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
      'LockKind',
      'LockList',
      'LockListOptions',
      'LockLocalEvent',
      'LockLostEvent',
      'LockLostReason',
      'LockOptions',
      'LockPermits',
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
      'LockTimeoutEvent',
      'LockTimeoutHolder',
      'LockUnavailableEvent',
      'LockWaiter',
      'LockedDecorator',
      'LockedOptions',
      'LockedWork',
      'LostLock',
      'OnBusy',
      'QuorumModuleOptions',
      'RedisClusterOptions',
      'RedisConnection',
      'RedisModuleOptions',
      'RedisServerOptions',
      'ReleaseOutcome',
      'ReplicaOptions',
      'StoreAvailableEvent',
      'StoreConnection',
      'StoreModuleOptions',
      'StoreRequestKind',
      'StoreRequestMessage',
      'StoreStatus',
      'StoreUnavailableEvent',
      'WaitingCall',
    ]);
  });

  it.each([
    [
      'health',
      ['LockHealthIndicator', 'LockHealthModule'],
      [
        'LockHealth',
        'LockHealthAsyncOptions',
        'LockHealthDefaults',
        'LockHealthModuleExtras',
        'LockHealthOptions',
        'LockHealthThresholds',
        'ReportedElection',
      ],
    ],
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
        'LeaderElectionAsyncOptions',
        'LeaderElectionOptions',
        'Leadership',
        'LeadershipEvent',
        'RevocationReason',
        'RevokedEvent',
      ],
    ],
    [
      'prometheus',
      ['LockPrometheusModule'],
      ['AnyRegistry', 'LockPrometheusAsyncOptions', 'LockPrometheusOptions'],
    ],
    [
      'opentelemetry',
      ['LockOpenTelemetryModule'],
      ['LockOpenTelemetryAsyncOptions', 'LockOpenTelemetryOptions', 'WhichSpans'],
    ],
    [
      'dashboard',
      ['LockDashboardModule'],
      ['LockDashboardAsyncOptions', 'LockDashboardFactoryOptions', 'LockDashboardOptions'],
    ],
  ])('of %s are these', async (entry, values, types) => {
    expect(await declaredExports(`${entry}/index.ts`)).toEqual({ values, types });
  });
});
