import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { LockUnavailableError, type LockHandle } from '../../lib/index.js';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { PortClient } from '../contract/port-client.js';
import { CommandMonitor } from '../support/command-monitor.js';
import { lineUp, patient } from '../support/hand-over.js';
import { queuedIn } from '../support/lock-app.js';
import { blockEventLoop, until, within } from '../support/until.js';
import { RedisScene, scripts } from './redis-scene.js';

describe.each([0, 10])('batched requests, %d ms away', (delay) => {
  const scene = new RedisScene({ delay });
  const keysOf = (count: number): string[] => Array.from({ length: count }, () => scene.key());

  /** How many reads from connections the server does during `action`. */
  async function readsDuring(action: () => Promise<unknown>): Promise<number> {
    const reads = async (): Promise<number> =>
      Number(/total_reads_processed:(\d+)/.exec(await scene.client.info('stats'))?.[1]);
    const before = await reads();
    await action();
    // Minus the read for `info` itself.
    return (await reads()) - before - 1;
  }

  it('P21: 200 locks are acquired and released by few scripts', async () => {
    const app = await scene.app();
    // Load the scripts.
    await app.locks.withLock(scene.key(), () => undefined);
    const keys = keysOf(200);
    await scene.client.config('RESETSTAT');
    const handles = await Promise.all(keys.map((key) => app.locks.acquire(key)));
    const taken = await scene.commandCounts();
    expect(scripts(taken)).toBeLessThanOrEqual(20);
    expect(taken['hset']).toBe(200);
    expect(new Set(handles.map(({ token }) => token)).size).toBe(200);
    const outcomes = await Promise.all(handles.map((handle) => handle.release()));
    expect(new Set(outcomes)).toEqual(new Set(['released']));
    expect(scripts(await scene.commandCounts()) - scripts(taken)).toBeLessThanOrEqual(20);
    await scene.nothingLeft();
  });

  it('P21, P24: tokens for the shared holds of a process are requested together', async () => {
    const app = await scene.app();
    const key = scene.key();
    // On a busy machine tokens come late, and permits are released meanwhile.
    let fewest = Infinity;
    for (let attempt = 0; attempt < 50 && fewest > 75; attempt++) {
      await scene.client.config('RESETSTAT');
      const held: LockHandle[] = [];
      const work = async (): Promise<void> => {
        held.push(await app.locks.acquire(key, { limit: 10, ...patient }));
        // All permits need tokens at the same moments.
        if (held.length === 10) await Promise.all(held.splice(0).map((handle) => handle.release()));
      };
      await Promise.all(Array.from({ length: 500 }, work));
      fewest = Math.min(fewest, scripts(await scene.commandCounts()));
    }
    expect(fewest).toBeLessThanOrEqual(75);
    await scene.nothingLeft();
  });

  it('P21: requests of different kinds travel in one write', async () => {
    const app = await scene.app();
    let fewest = Infinity;
    for (let attempt = 0; attempt < 50 && fewest > 4; attempt++) {
      const handles = await Promise.all(keysOf(8).map((key) => app.locks.acquire(key, { leaseTime: 5_000 })));
      const questions = (): Promise<unknown>[] => [
        ...handles.slice(0, 4).map((handle) => handle.extend(20_000)),
        ...handles.slice(4).map((handle) => handle.release()),
        ...keysOf(4).map((key) => app.admin.inspect(key)),
        ...keysOf(4).map((key) => app.admin.forceRelease(key)),
        ...keysOf(4).map((key) => app.locks.withLock(key, () => undefined)),
      ];
      // The releases at the end of withLock are a tick of their own.
      fewest = Math.min(fewest, await readsDuring(() => Promise.all(questions())));
      await Promise.all(handles.map((handle) => handle.release()));
    }
    expect(fewest).toBeLessThanOrEqual(4);
    await scene.nothingLeft();
  });

  /** Runs each action in its own tick, all in one turn of the event loop. */
  async function inOneTurn(actions: readonly (() => Promise<unknown>)[]): Promise<unknown[]> {
    const called = actions.map(
      (action) =>
        new Promise((resolve) => {
          setTimeout(() => {
            resolve(action());
          }, 1);
        }),
    );
    // All timers are due when the event loop continues.
    blockEventLoop(10);
    return await Promise.all(called);
  }

  it('P21: requests of later ticks in one turn of the event loop are sent together', async () => {
    const app = await scene.app();
    await app.locks.withLock(scene.key(), () => undefined);
    const handles = await Promise.all(keysOf(40).map((key) => app.locks.acquire(key)));
    await scene.client.config('RESETSTAT');
    const outcomes = await inOneTurn(handles.map((handle) => () => handle.release()));
    expect(new Set(outcomes)).toEqual(new Set(['released']));
    // The first two at once, the others in batches of 16.
    expect(scripts(await scene.commandCounts())).toBeLessThanOrEqual(5);
    await scene.nothingLeft();
  });

  it('P21: a foreign value at the name of one lock does not affect other locks', async () => {
    const app = await scene.app();
    const keys = keysOf(60);
    const broken = keys.filter((_, index) => index % 10 === 3);
    for (const key of broken) await scene.client.set(`lock:${key}`, 'something else');
    const takes = keys.map((key) =>
      app.locks.acquire(key, { waitTime: 2_000 }).catch((error: unknown) => error),
    );
    const outcomes = await Promise.all(takes);
    const handles: LockHandle[] = [];
    outcomes.forEach((outcome, index) => {
      if (broken.includes(keys[index] ?? '')) {
        expect(outcome).toBeInstanceOf(LockUnavailableError);
        expect((outcome as LockUnavailableError).message).toContain('WRONGTYPE');
      } else handles.push(outcome as LockHandle);
    });
    expect(handles.every((handle) => handle.isHeld)).toBe(true);
    expect(handles).toHaveLength(54);

    // The same for releases: another client has overwritten some of the locks.
    const spoilt = handles.slice(0, 5);
    for (const { key } of spoilt) await scene.client.set(`lock:${key}`, 'something else');
    const released = await Promise.all(handles.map((handle) => handle.release()));
    released.forEach((outcome, index) => expect(outcome).toBe(index < 5 ? 'expired' : 'released'));
    for (const { key } of spoilt) expect(await scene.client.get(`lock:${key}`)).toBe('something else');
    await scene.nothingLeft();
  });

  it('P21: a foreign value at the name of a queue affects only its own lock', async () => {
    const app = await scene.app();
    const keys = keysOf(10);
    const handles = await Promise.all(keys.map((key) => app.locks.acquire(key)));
    const bad = keys[4] ?? '';
    const other = await scene.app();
    const waiting = other.locks.acquire(bad, patient);
    await queuedIn(other, bad);
    const [queue = ''] = await scene.client.keys('lock:@:queue:*');
    await scene.client.set(queue, 'something else');
    // A poll may find the lock free before its application closes.
    const ended = waiting.then(
      (handle) => handle.release(),
      () => undefined,
    );
    const outcomes = await Promise.all(handles.map((handle) => handle.release()));
    expect(outcomes).toEqual(keys.map((key) => (key === bad ? 'unknown' : 'released')));
    expect(app.events('lost')).toEqual([]);
    expect(await scene.client.exists(...keys.map((key) => `lock:${key}`))).toBe(0);
    await scene.client.del(queue);
    await other.close();
    await ended;
    await scene.nothingLeft();
  });

  it('P21: a lock that the Redis user may not access does not affect other locks', async () => {
    const keys = keysOf(30);
    const forbidden = keys[12] ?? '';
    const allowed = keys.filter((key) => key !== forbidden).map((key) => `~lock:${key}`);
    await scene.client.call(
      'ACL',
      'SETUSER',
      'limited',
      'on',
      '>secret',
      '~lock:@*',
      '&*',
      '+@all',
      ...allowed,
    );
    const app = await scene.app({ redis: scene.url.replace('://', '://limited:secret@') });
    const outcomes = await Promise.allSettled(keys.map((key) => app.locks.acquire(key, patient)));
    for (const [index, outcome] of outcomes.entries()) {
      if (keys[index] === forbidden) expect(outcome).toMatchObject({ reason: { code: 'LOCK_UNAVAILABLE' } });
      else expect(outcome).toMatchObject({ status: 'fulfilled', value: { isHeld: true } });
    }
    const handles = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(await Promise.all(handles.map((handle) => handle.release()))).toEqual(
      handles.map(() => 'released'),
    );
    await scene.nothingLeft();
    await app.close();
    await scene.client.call('ACL', 'DELUSER', 'limited');
  });

  it('F4, P6: after SCRIPT FLUSH each script of a pipeline runs exactly once, whatever it is', async () => {
    const [app, other] = [await scene.app(), await scene.app()];
    for (let round = 0; round < 5; round++) {
      const held = await Promise.all(keysOf(20).map((key) => app.locks.acquire(key, { leaseTime: 5_000 })));
      const busy = scene.key();
      const { first, waits } = await lineUp(app, busy);
      const asked = other.locks.acquire(busy, patient);
      await queuedIn(other, busy);
      const fresh = keysOf(40);
      await scene.client.script('FLUSH');
      const written = await writesTo(scene, [...fresh, ...held.map(({ key }) => key)]);
      const [handles] = await Promise.all([
        Promise.all(fresh.map((key) => app.locks.acquire(key))),
        ...held.slice(0, 10).map(async (handle) => expect(await handle.release()).toBe('released')),
        ...held.slice(10).map((handle) => handle.extend(20_000)),
        ...held.slice(10).map(async ({ key, token }) => {
          expect(await app.admin.inspect(key)).toMatchObject({ token });
        }),
      ]);
      // Waiters may poll meanwhile; their key is not counted.
      const counts = await written();
      expect(counts['hset']).toBe(fresh.length);
      expect(counts['del']).toBe(10);
      for (const handle of handles) {
        const stored = await scene.client.hgetall(`lock:${handle.key}`);
        expect(Number(stored['token'])).toBe(handle.token);
        expect(Object.keys(stored).filter((field) => field.includes(':'))).toHaveLength(1);
      }
      expect(held.slice(10).every(({ remaining }) => remaining > 15_000)).toBe(true);
      await scene.client.script('FLUSH');
      const all = [...handles, ...held.slice(10), first];
      const outcomes = await Promise.all(all.map((handle) => handle.release()));
      expect(new Set(outcomes)).toEqual(new Set(['released']));
      await Promise.all([...waits, asked].map((waiting) => waiting.then((handle) => handle.release())));
      expect([...app.events('lost'), ...app.events('unavailable')]).toEqual([]);
    }
    await scene.nothingLeft();
  });

  it('F10: acquires that were carried out but whose replies were lost are one grant each', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url });
    for (let round = 0; round < 4; round++) {
      const keys = keysOf(100);
      const marked = keys[[0, 20, 50, 99][round] ?? 0] ?? '';
      const lost = proxy.loseReply((request) => request.includes(marked));
      const taking = Promise.all(keys.map((key) => app.locks.acquire(key, patient)));
      await lost;
      const handles = await within(8_000, 'the locks', taking);
      for (const handle of handles) {
        const stored = await scene.client.hgetall(`lock:${handle.key}`);
        expect(Number(stored['token'])).toBe(handle.token);
        expect(Object.keys(stored).filter((field) => field.includes(':'))).toHaveLength(1);
      }
      expect(new Set(handles.map(({ token }) => token)).size).toBe(100);
      const outcomes = await Promise.all(handles.map((handle) => handle.release()));
      expect(new Set(outcomes)).toEqual(new Set(['released']));
    }
    await scene.nothingLeft();
  });

  it('F12: releases whose replies were lost, or that never arrived, are repeated', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url });
    for (const fault of ['loseReply', 'loseRequest'] as const) {
      const handles = await Promise.all(keysOf(100).map((key) => app.locks.acquire(key)));
      const marked = handles[50]?.key ?? '';
      const lost = proxy[fault]((request) => request.includes(marked));
      const releasing = Promise.all(handles.map((handle) => handle.release()));
      await lost;
      expect(handles.some((handle) => handle.isHeld)).toBe(false);
      const outcomes = await within(6_000, 'the releases', releasing);
      for (const outcome of outcomes) expect(['released', 'unknown']).toContain(outcome);
      // Without the repeated releases the leases would last for 30 s.
      await until('all are free', async () => (await scene.leftovers()).length === 0, { deadline: 4_000 });
    }
  });

  it('P21, P33: a lock whose release is in doubt is free for the next request in the same tick', async () => {
    const client = await PortClient.open(new RedisLockStore(scene.url, 'lock:'));
    const [key, owner, next] = [scene.key(), client.newOwner(), client.newOwner()];
    try {
      // Load the scripts.
      for (const first of [client.newOwner(), owner]) {
        await client.take(key, first);
        if (first !== owner) await client.release(key, first, true);
      }
      const [outcome, reply] = await Promise.all([
        client.release(key, owner, true),
        client.acquire(key, next),
      ]);
      expect(outcome).toBe('released');
      expect(reply.outcome).toBe('granted');
      await client.release(key, next);
    } finally {
      await client.close();
    }
  });
});

/** Counts the commands that scripts run on these locks until the returned function is called. */
async function writesTo(
  scene: RedisScene,
  keys: readonly string[],
): Promise<() => Promise<Record<string, number>>> {
  const locks = new Set(keys.map((key) => `lock:${key}`));
  const counts: Record<string, number> = {};
  const end = randomUUID();
  let finish: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (finish = resolve));
  const monitor = await CommandMonitor.of(scene.server, ({ args: [command = '', key = ''] }) => {
    const name = command.toLowerCase();
    if (locks.has(key)) counts[name] = (counts[name] ?? 0) + 1;
    if (key === end) finish();
  });
  return async () => {
    await scene.client.echo(end);
    await ended;
    monitor.close();
    return counts;
  };
}
