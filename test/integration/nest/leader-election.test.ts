import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { Registry } from 'prom-client';
import { LockHealthIndicator } from '../../../lib/health/index.js';
import { DistributedLockModule, getLockAdminToken, LockAdmin, LockService } from '../../../lib/index.js';
import { lockAdminsOf } from '../../../lib/instruments/sources.js';
import { LockPrometheusModule } from '../../../lib/prometheus/index.js';
import {
  InjectLeaderElection,
  LeaderElection,
  LeaderElectionModule,
  OnElected,
  OnRevoked,
  getLeaderElectionToken,
  type Leadership,
  type LeadershipEvent,
} from '../../../lib/leader/index.js';
import { FakeLeaderElection } from '../../../lib/testing/index.js';
import { LogRecorder } from '../../support/lock-app.js';
import { rejectionOf, until } from '../../support/until.js';

@Injectable()
class Poller {
  readonly calls: string[] = [];

  constructor(@InjectLeaderElection('poller') readonly election: LeaderElection) {}

  @OnElected('poller')
  lead({ token }: Leadership): void {
    this.calls.push(`elected ${String(token)}`);
  }

  @OnRevoked('poller')
  leave({ reason }: { reason: string }): void {
    this.calls.push(`revoked ${reason}`);
  }
}

describe('LeaderElectionModule', () => {
  const modules: TestingModule[] = [];
  afterEach(() => Promise.all(modules.splice(0).map((module) => module.close())));

  const testing = (
    imports: Parameters<typeof Test.createTestingModule>[0]['imports'],
    providers: Parameters<typeof Test.createTestingModule>[0]['providers'] = [Poller],
    log = new LogRecorder(),
  ) => Test.createTestingModule({ imports: [...(imports ?? [])], providers }).setLogger(log);
  const start = async (builder: ReturnType<typeof testing>): Promise<TestingModule> => {
    const module = await builder.compile();
    modules.push(module);
    await module.init();
    return module;
  };
  const memory = DistributedLockModule.forRoot({ store: 'memory' });

  it.each([{}, { watchdogTimeout: 3_000 }])(
    'B80: metrics, dashboard and the LockAdmin of the election show the lock of the leader (%j)',
    async (options) => {
      const registry = new Registry();
      const module = await start(
        testing([
          memory,
          LeaderElectionModule.forFeature('poller', options),
          LockPrometheusModule.forRoot({ register: registry }),
        ]),
      );
      await until('it is the leader', () => module.get(Poller).election.isLeader);
      const admin = module.get<LockAdmin>(getLockAdminToken('leader poller'), { strict: false });
      expect(admin.held()).toMatchObject([{ key: 'leader:poller', operation: 'leader election' }]);
      expect(await registry.metrics()).toMatch(
        /^distributed_lock_active\{.*operation="leader election".*\} 1$/m,
      );
      const admins = lockAdminsOf(module.get(ModulesContainer));
      expect(admins.flatMap((each) => each.held()).map(({ key }) => key)).toEqual(['leader:poller']);
    },
  );

  it('reports no leader as a hold that is older than warnHeldAfter', async () => {
    const log = new LogRecorder();
    const store = DistributedLockModule.forRoot({ store: 'memory', warnHeldAfter: 1_000 });
    const module = await start(testing([store, LeaderElectionModule.forFeature('poller')], [Poller], log));
    await until('it is the leader', () => module.get(Poller).election.isLeader);
    const locks = module.get(LockService);
    await locks.acquire('forgotten', { label: 'import' });
    await until('the forgotten hold is reported', () => log.matching('forgotten').length > 0);
    expect(log.matching('leader:poller')).toEqual([]);
    const admin = module.get(LockAdmin);
    expect(admin.status().longHolds).toBe(1);
    const { locks: health } = await new LockHealthIndicator(admin).isHealthy('locks');
    expect(health.reasons).toEqual([
      expect.stringMatching(/^1 hold longer than warnHeldAfter, .*label "import", acquired at /),
    ]);
  });

  it('calls inherited methods, and overridden ones once', async () => {
    @Injectable()
    class OwnPoller extends Poller {
      @OnElected('poller')
      override lead(leadership: Leadership): void {
        super.lead(leadership);
      }
    }
    const module = await start(testing([memory, LeaderElectionModule.forFeature('poller')], [OwnPoller]));
    const { election, calls } = module.get(OwnPoller);
    await until('it is the leader', () => calls.length > 0);
    await election.resign();
    expect(calls.slice(0, 2)).toEqual([expect.stringMatching(/^elected/), 'revoked resigned']);
  });

  it('elects nobody by locks that hold in one process only', async () => {
    const module = await start(
      testing([
        DistributedLockModule.forRoot({
          redis: { host: '127.0.0.1', port: 1, retryStrategy: () => 50 },
          onUnavailable: 'local',
          watchdogTimeout: 600,
        }),
        LeaderElectionModule.forFeature('poller'),
      ]),
    );
    const locks = module.get(LockService);
    await until('locks are local', async () => (await locks.acquire('key')).local, { deadline: 20_000 });
    expect(module.get(Poller).election.isLeader).toBe(false);
  });

  it('names the import that is missing', async () => {
    const withoutElection = testing([memory], [Poller]);
    expect(await rejectionOf(withoutElection.compile())).toMatchObject({
      message: expect.stringContaining("import LeaderElectionModule.forFeature('poller')"),
    });
    @Injectable()
    class Stray {
      @OnElected('stray')
      lead(): void {}
    }
    // Without any election, too.
    expect(await rejectionOf(testing([memory], [Stray]).compile())).toMatchObject({
      message: expect.stringContaining(
        'LeaderElectionModule.forFeature(name), imported into the application',
      ),
    });
    const module = await testing([memory, LeaderElectionModule.forFeature('poller')], [Stray]).compile();
    expect(await rejectionOf(module.init())).toMatchObject({
      code: 'LOCK_OPTIONS',
      message:
        "@OnElected('stray') on Stray.lead: there is no such election. Import LeaderElectionModule.forFeature('stray').",
    });
  });

  it.each([
    ['an empty name', () => LeaderElectionModule.forFeature(''), 'non-empty string'],
    ['an unknown option', () => LeaderElectionModule.forFeature('a', { lease: 1 } as object), 'lease'],
    ['a long label', () => LeaderElectionModule.forFeature('a', { label: 'x'.repeat(201) }), 'label'],
    ['a short lease', () => LeaderElectionModule.forFeature('a', { watchdogTimeout: 10 }), 'watchdogTimeout'],
  ])('refuses %s', (_, call, text) => {
    expect(call).toThrow(text);
  });

  it('is decided by a test with FakeLeaderElection', async () => {
    @Module({ imports: [LeaderElectionModule.forFeature('poller')], providers: [Poller] })
    class PollerModule {}
    const fake = new FakeLeaderElection('poller');
    const module = await start(
      testing([memory, PollerModule], []).overrideProvider(getLeaderElectionToken('poller')).useValue(fake),
    );
    const poller = module.get(Poller, { strict: false });
    const seen: LeadershipEvent['type'][] = [];
    fake.leadership$.subscribe(({ type }) => seen.push(type));
    expect(poller.election.isLeader).toBe(false);
    const first = await fake.elect();
    // F26: ends neither the process nor the election.
    first.signal.addEventListener('abort', () => {
      throw new Error('a listener');
    });
    expect(poller.election.isLeader).toBe(true);
    await fake.revoke();
    expect([poller.election.isLeader, first.signal.aborted]).toEqual([false, true]);
    const second = await fake.elect();
    expect(second.token).toBeGreaterThan(first.token);
    await poller.election.resign();
    expect(seen).toEqual(['elected', 'revoked', 'elected', 'revoked']);
    expect(poller.calls).toEqual([
      `elected ${String(first.token)}`,
      'revoked taken',
      `elected ${String(second.token)}`,
      'revoked resigned',
    ]);
  });
});
