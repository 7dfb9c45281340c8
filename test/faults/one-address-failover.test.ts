import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DistributedLockModule, type DistributedLockOptions } from '../../lib/index.js';
import {
  getLeaderElectionToken,
  LeaderElectionModule,
  OnElected,
  type LeaderElection,
} from '../../lib/leader/index.js';
import { aclRules } from '../../lib/stores/redis/doctor/acl-rules.js';
import { redissonStore } from '../../lib/stores/redisson/index.js';
import { Endings } from '../support/endings.js';
import { ExclusionWitness } from '../support/exclusion-witness.js';
import { LockLoad, type LoadedCalls } from '../support/lock-load.js';
import { LockApp, LogRecorder, queuedIn } from '../support/lock-app.js';
import { OneAddress } from '../support/one-address.js';
import { elapse, until, within } from '../support/until.js';

/** How long each leader leads, ms. */
const TERM = 30;
/** Waits of a few holds, ms: shorter than the time between two polls. */
const SHORT = 900;

interface Kind extends LoadedCalls {
  readonly name: string;
  readonly options?: (url: string) => DistributedLockOptions;
  /** Default 3. */
  readonly clients?: number;
  /** How many may hold the lock at once. */
  readonly limit?: number;
  /** The user may do what locks need, except this. */
  readonly without?: string;
}

const KINDS: readonly Kind[] = [
  { name: 'exclusive' },
  { name: 'fair', call: { fair: true } },
  { name: 'limit: 2', call: { limit: 2 }, limit: 2 },
  { name: "onLost: 'throw'", call: { onLost: 'throw' } },
  { name: 'several keys', keys: 3 },
  { name: 'a quorum of one', options: (url) => ({ quorum: [url] }) },
  {
    name: 'redissonStore',
    options: (url) => ({ store: redissonStore({ redis: url, keyPrefix: 'lock:' }) }),
    // Redisson keeps no order: a third one may starve at any time.
    clients: 2,
  },
  { name: 'a user without PUBSUB', without: '+pubsub' },
  { name: 'a user without INFO', without: '+info' },
];

/** Leads for a moment, and lets the next one lead. */
@Injectable()
class Office {
  static witness = new ExclusionWitness();
  terms = 0;

  @OnElected('office')
  async lead(): Promise<void> {
    this.terms += 1;
    Office.witness.enter();
    await elapse(TERM);
    Office.witness.leave();
  }
}

describe('F68: one address in front of a primary and its replica, with connections that live on', () => {
  const endings = new Endings();
  let servers: OneAddress;
  beforeAll(async () => {
    servers = await OneAddress.start();
  });
  afterAll(() => servers.close());

  const asUsual = async (load: LockLoad): Promise<void> => {
    await until('waits are short', async () => (await load.longestWait()) < SHORT, { deadline: 20_000 });
  };

  const started = async (kind: Kind): Promise<LockApp[]> => {
    const url = kind.without === undefined ? servers.url : await urlWithout(kind.without);
    const options = kind.options?.(url) ?? { redis: url };
    const apps = Array.from({ length: kind.clients ?? 3 }, async () =>
      endings.app(await LockApp.start({ ...options, shutdownTimeout: 50 })),
    );
    return Promise.all(apps);
  };

  const urlWithout = async (right: string): Promise<string> => {
    const used = { cluster: false, sharded: false, replicas: false, database: false };
    const rules = aclRules({ prefix: 'lock:' }, used).filter((rule) => rule !== right);
    for (const server of [servers.primary, servers.replica]) await server.addUser('few', 'rights', rules);
    return servers.url.replace('//', '//few:rights@');
  };

  it.each(KINDS)(
    'P11, P14: $name: no two holds overlap, none is lost, and waits are as before',
    async (kind) => {
      const load = new LockLoad(await started(kind), kind);
      await asUsual(load);
      await servers.failover();
      await asUsual(load);
      await load.end(kind.limit);
    },
  );

  it.each([
    { name: 'exclusive' },
    { name: 'limit: 2', call: { limit: 2, permits: 2 } },
    { name: 'a quorum of one', options: (url: string) => ({ quorum: [url] }) },
    {
      name: 'redissonStore',
      options: (url: string) => ({ store: redissonStore({ redis: url, keyPrefix: 'lock:' }) }),
    },
    { name: 'a user without INFO', without: '+info' },
  ])('P33: $name: releases that a failover has lost are repeated at the new primary', async (kind: Kind) => {
    const [one, two, three] = (await started(kind)) as [LockApp, LockApp, LockApp];
    const call = { waitTime: 20_000, ...kind.call };
    const [free, contested] = [randomUUID(), randomUUID()];
    const held = await one.locks.acquire(free, call);
    const first = await one.locks.acquire(contested, call);
    const second = two.locks.acquire(contested, call);
    await queuedIn(two, contested);
    await servers.replicated();
    await servers.failoverWithout(async () => {
      expect(await held.release()).toBe('released');
      expect(await first.release()).toBe('released');
      expect(await (await second).release()).toBe('released');
    });
    for (const key of [free, contested]) {
      await (await within(5_000, 'the lock', three.locks.acquire(key, call))).release();
    }
  });

  it('F73: no two leaders at once, and each candidate leads again', async () => {
    const terms = Array.from({ length: 3 }, async () => {
      const module = await Test.createTestingModule({
        imports: [
          DistributedLockModule.forRoot({ redis: servers.url, shutdownTimeout: 50 }),
          LeaderElectionModule.forFeature('office'),
        ],
        providers: [Office],
      })
        .setLogger(new LogRecorder())
        .compile();
      await module.init();
      endings.app(module);
      const election = module.get<LeaderElection>(getLeaderElectionToken('office'));
      const office = module.get(Office);
      const work = election.leadership$.subscribe(({ type }) => {
        if (type === 'elected') void elapse(TERM).then(() => election.resign());
      });
      endings.app({ close: () => work.unsubscribe() });
      return office;
    });
    const offices = await Promise.all(terms);
    const eachLeads = async (): Promise<void> => {
      for (const office of offices) office.terms = 0;
      await until('each has led', () => offices.every((office) => office.terms >= 5), { deadline: 30_000 });
    };
    await eachLeads();
    await servers.failover();
    await eachLeads();
    expect(Office.witness.most).toBe(1);
  });

  it('P12: messages from the replica only: no two holds overlap; then the subscription finds the primary', async () => {
    const { proxy, primary, replica } = servers;
    const load = new LockLoad(await started({ name: 'exclusive' }));
    await asUsual(load);
    proxy.leadNew(replica.port);
    proxy.cut((connection) => connection.subscribes);
    await load.longestWait();
    proxy.leadNew(primary.port);
    await asUsual(load);
    await load.end();
  });
});
