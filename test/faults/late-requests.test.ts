import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { lastValueFrom, Observable, tap } from 'rxjs';
import {
  DistributedLockModule,
  LockClosedError,
  Locked,
  LockService,
  LockTimeoutError,
  type LockHandle,
} from '../../lib/index.js';
import { PushedGrants } from '../../lib/stores/port/pushed-grants.js';
import { queuedIn } from '../support/lock-app.js';
import { elapse, next, until, within } from '../support/until.js';
import { about, RedisScene } from './redis-scene.js';

describe.each([0, 40])('faults at the worst moment, %d ms away', (delay) => {
  const scene = new RedisScene({ delay });

  it('P14: connections that the server kills during a release delay a waiter by at most one poll', async () => {
    const [holder, app] = [await scene.app(), await scene.app()];
    for (let round = 0; round < (delay > 0 ? 4 : 12); round++) {
      const key = scene.key();
      const handle = await holder.locks.acquire(key);
      const waiting = app.locks.acquire(key, { waitTime: 10_000 });
      await queuedIn(app, key);
      const kind = round % 2 ? 'pubsub' : 'normal';
      const killing = scene.client.call('CLIENT', 'KILL', 'TYPE', kind, 'SKIPME', 'yes');
      // Half of the rounds release while the connections are being killed, half afterwards.
      if (round % 4 < 2) await killing;
      const released = handle.release();
      await killing;
      // One poll, and the time to reconnect on a busy machine.
      const next = await within(2_000, 'the next holder', waiting);
      expect(next.token).toBeGreaterThan(handle.token);
      await released;
      await next.release();
    }
    await scene.nothingLeft();
  });

  it('B14, B60: a shutdown amid requests, pushes, releases and waits settles every call and leaves no lock', async () => {
    for (let round = 0; round < (delay > 0 ? 5 : 15); round++) {
      const [app, other] = [await scene.app(), await scene.app()];
      const keys = Array.from({ length: 5 }, () => scene.key());
      const use = async (asking: Promise<LockHandle | null>): Promise<unknown> => {
        try {
          const handle = await asking;
          await elapse(round % 3);
          return await handle?.release();
        } catch (error) {
          return error;
        }
      };
      const calls = Array.from({ length: 40 }, (_, index) => {
        const { locks } = index % 4 === 0 ? other : app;
        const key = keys[index % keys.length] ?? '';
        return use(index % 3 === 0 ? locks.tryAcquire(key) : locks.acquire(key, { waitTime: 4_000 }));
      });
      await elapse(round);
      await app.close();
      const outcomes = await within(6_000, 'every call to settle', Promise.all(calls));
      for (const outcome of outcomes) {
        if (outcome instanceof Error) {
          expect([LockClosedError, LockTimeoutError]).toContain(outcome.constructor);
        }
      }
      expect(await scene.leftovers()).toEqual([]);
    }
  });
});

describe('the consumer of a locked stream', () => {
  const scene = new RedisScene();

  it('B51, B34: runs outside of every scope', async () => {
    @Injectable()
    class Feed {
      @Locked({ key: 'audit', waitTime: 5_000 })
      follow(): Observable<number> {
        return new Observable((subscriber) => {
          subscriber.next(1);
          subscriber.complete();
        });
      }
    }
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ redis: scene.url })],
      providers: [Feed],
    }).compile();
    scene.until({ kill: () => module.close() });
    await module.init();
    const locks = module.get(LockService);
    let saw: string | undefined = 'uncalled';
    await lastValueFrom(
      module
        .get(Feed)
        .follow()
        .pipe(tap(() => (saw = locks.current('audit')?.key))),
    );
    expect(saw).toBeUndefined();
  });
});

describe.each([0, 40])('a waiter that receives no notifications, %d ms away', (delay) => {
  const scene = new RedisScene({ delay });

  it('B13: does not starve while other processes pass the lock to each other', async () => {
    const [one, two] = [await scene.app(), await scene.app()];
    // All rights except access to channels.
    await scene.client.acl('SETUSER', 'deaf', 'on', '>secret', '~*', '+@all', 'resetchannels');
    const deaf = await scene.app({ redis: scene.url.replace('://', '://deaf:secret@') });
    const key = scene.key();
    let going = true;
    const use = async (locks: LockService): Promise<void> => {
      while (going) await locks.withLock(key, { waitTime: 15_000 }, () => elapse(2));
    };
    const using = Promise.all([use(one.locks), use(two.locks)]);
    try {
      await until('the lock is in use', () => scene.client.exists(`lock:${key}`));
      // One poll that misses the lock, one that marks the waiter alive, one that finds the grant.
      const handle = await deaf.locks.acquire(key, { waitTime: 6_000 });
      await handle.release();
    } finally {
      going = false;
      await using;
    }
    await scene.nothingLeft();
  });
});

describe.each([0, 10])('state after a grant, %d ms away', (delay) => {
  const scene = new RedisScene({ delay });

  it('P32: a late copy of its request acquires nothing once the loss was reported', async () => {
    const proxy = await scene.proxy();
    const [holder, breaker] = [await scene.app(), await scene.app()];
    const app = await scene.app({ redis: proxy.url });
    const key = scene.key();
    const handle = await holder.locks.acquire(key);
    let late = '';
    const lost = proxy.loseRequest((request) => {
      if (!about(key)(request)) return false;
      late = request;
      return true;
    });
    const waiting = app.locks.acquire(key, { waitTime: 15_000 });
    await lost;
    await queuedIn(app, key);
    await handle.release();
    const inDoubt = await waiting;
    const reported = next(app.locks.events, (event) => event.type === 'lost' && event.key === key);
    await breaker.admin.forceRelease(key);
    await reported;
    expect(await inDoubt.release()).toBe('expired');
    // This reply comes after all requests that the loss caused.
    expect(await app.locks.isLocked(key)).toBe(false);
    await deliver(scene.server.port, late);
    expect(await scene.client.exists(`lock:${key}`)).toBe(0);
    await scene.nothingLeft();
  });

  it('F50: a pushed grant leaves no bookkeeping', async () => {
    const asking = jest.spyOn(PushedGrants.prototype, 'onAsk');
    const [holder, app] = [await scene.app(), await scene.app()];
    const key = scene.key();
    try {
      for (let round = 0; round < 20; round++) {
        const handle = await holder.locks.acquire(key);
        const granted = next(app.locks.events, (event) => event.type === 'granted');
        const queued = next(app.locks.events, (event) => event.type === 'queued');
        const waiting = app.locks.acquire(key);
        await queued;
        await handle.release();
        await granted;
        await (await waiting).release();
      }
      const grants = asking.mock.contexts as PushedGrants[];
      const kept = asking.mock.calls.filter(([owner], index) => grants[index]?.isWaiting(owner));
      expect(asking.mock.calls.length).toBeGreaterThanOrEqual(20);
      expect(kept).toEqual([]);
    } finally {
      asking.mockRestore();
    }
  });
});

/** Sends bytes as a slow network would deliver them, and waits for the reply. */
async function deliver(port: number, bytes: string): Promise<void> {
  expect(bytes).not.toBe('');
  const socket = connect(port, '127.0.0.1');
  socket.write(bytes, 'latin1');
  await within(2_000, 'an answer', once(socket, 'data'));
  socket.destroy();
}
