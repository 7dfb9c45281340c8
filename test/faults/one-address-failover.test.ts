import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { DistributedLockOptions, LockOptions } from '../../lib/index.js';
import { aclRules } from '../../lib/stores/redis/doctor/acl-rules.js';
import { redissonStore } from '../../lib/stores/redisson/index.js';
import { Endings } from '../support/endings.js';
import { ExclusionWitness } from '../support/exclusion-witness.js';
import { LockApp } from '../support/lock-app.js';
import { OneAddress } from '../support/one-address.js';
import { elapse, until } from '../support/until.js';

const CLIENTS = 3;
/** How long each hold works, ms. */
const WORK = 30;
/** Holds of each kind before and after the failover. */
const HOLDS = 40;

interface Kind {
  readonly name: string;
  readonly options?: (url: string) => DistributedLockOptions;
  readonly call?: LockOptions;
  readonly keys?: number;
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
  { name: 'redissonStore', options: (url) => ({ store: redissonStore({ redis: url, keyPrefix: 'lock:' }) }) },
  { name: 'a user without PUBSUB', without: '+pubsub' },
  { name: 'a user without INFO', without: '+info' },
];

describe('F68: one address in front of a primary and its replica, connections that live on', () => {
  const endings = new Endings();
  let servers: OneAddress;
  beforeAll(async () => {
    servers = await OneAddress.start();
  });
  afterAll(() => servers.close());

  const started = async (kind: Kind): Promise<LockApp[]> => {
    const url = kind.without === undefined ? servers.url : await urlWithout(kind.without);
    const options = kind.options?.(url) ?? { redis: url };
    const apps = Array.from({ length: CLIENTS }, async () =>
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

  it.each(KINDS)('P11, P14: $name: none overlaps, none is lost, waits are as before', async (kind) => {
    const { keys = 1, limit = 1 } = kind;
    const apps = await started(kind);
    const key = randomUUID();
    const key$ = keys === 1 ? key : Array.from({ length: keys }, (_, index) => `${key}-${String(index)}`);
    const witness = new ExclusionWitness();
    /** How long clients waited for their holds, ms. */
    let waits: number[] = [];
    const pending = new Set<{ readonly since: number }>();
    const failures: unknown[] = [];
    let isOver = false;
    const work = async ({ locks }: LockApp): Promise<void> => {
      while (!isOver) {
        const call = { since: performance.now() };
        pending.add(call);
        try {
          await locks.withLock(key$, { waitTime: 20_000, ...kind.call }, async () => {
            pending.delete(call);
            waits.push(performance.now() - call.since);
            witness.enter();
            await elapse(WORK);
            witness.leave();
          });
        } catch (error) {
          failures.push(error);
        }
      }
    };
    const workers = apps.map(work);
    /** The longest wait of this many holds, ms. */
    const longestOf = async (): Promise<number> => {
      waits = [];
      await until(`${String(HOLDS)} holds`, () => waits.length >= HOLDS, { deadline: 30_000 });
      return Math.max(...waits, ...Array.from(pending, ({ since }) => performance.now() - since));
    };
    const before = await longestOf();
    await servers.failover();
    const during = await longestOf();
    const after = await longestOf();
    isOver = true;
    await Promise.all(workers);
    const lost = apps.flatMap((app) => app.events('lost'));
    console.error(kind.name, { most: witness.most, before, during, after, lost: lost.length, failures });
    expect(witness.most).toBe(limit);
    expect(lost).toEqual([]);
    expect(failures).toEqual([]);
    expect(during).toBeLessThan(3_000);
    expect(after).toBeLessThan(500);
  });
});
