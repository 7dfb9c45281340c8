import { tracingChannel } from 'node:diagnostics_channel';
import { describe, expect, it } from '@jest/globals';
import {
  LockClosedError,
  LockOptionsError,
  type AcquireTrace,
  type HoldTrace,
  type LockEvent,
  type LockEventMessage,
  type StoreRequestMessage,
} from '../../lib/index.js';
import type { LockApp } from '../support/lock-app.js';
import { withSubscriber } from '../support/subscriber.js';
import { rejectionOf, until } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

/** What the service reports about this process, and which subscribers are notified. */
export function observabilityRules(context: ContractContext): void {
  const eventsOf = (app: LockApp): LockEvent[] => {
    const events: LockEvent[] = [];
    app.locks.events.subscribe((event) => events.push(event));
    return events;
  };

  describe('O1: what this process holds and waits for', () => {
    it('held() lists every hold with the operation and label of its call, the oldest first', async () => {
      const app = await context.app();
      const [one, two] = [context.key(), context.key()];
      const first = await app.locks.acquire(one, { operation: 'import', label: 'nightly' });
      const [mode, limit] = context.isExclusive ? ['exclusive' as const, 1] : ['shared' as const, Infinity];
      const shared = await app.locks.acquire(two, { mode, leaseTime: 60_000 });
      const held = app.admin.held();
      expect(held).toMatchObject([
        { key: one, operation: 'import', mode: 'exclusive', limit: 1, label: 'nightly', token: first.token },
        {
          key: two,
          operation: 'default',
          mode,
          limit,
          label: undefined,
          token: shared.token,
        },
      ]);
      expect(held.map(({ leaseTime }) => leaseTime)).toEqual([undefined, 60_000]);
      for (const { remaining, heldFor, renewalError, local } of held) {
        expect(remaining).toBeGreaterThan(0);
        expect(heldFor).toBeGreaterThanOrEqual(0);
        expect([renewalError, local]).toEqual([undefined, false]);
      }
      await first.release();
      expect(app.admin.held().map(({ key }) => key)).toEqual([two]);
      await shared.release();
      expect(app.admin.held()).toEqual([]);
    });

    context.itOfAllKinds('held() lists each of several readers of a process', async () => {
      const app = await context.app();
      const key = context.key();
      const readers = await Promise.all(
        ['a', 'b', 'c'].map((label) => app.locks.acquire(key, { mode: 'shared', label, operation: label })),
      );
      expect(
        app.admin
          .held()
          .map(({ label }) => label)
          .sort(),
      ).toEqual(['a', 'b', 'c']);
      for (const reader of readers) await reader.release();
    });

    it('held() lists a hold that was handed over under the operation of its own call', async () => {
      const app = await context.app();
      const key = context.key();
      const holder = await app.locks.acquire(key, { operation: 'first' });
      const following = app.locks.acquire(key, { operation: 'second', label: 'next' });
      await until('the other waits', () => app.admin.waiting().length === 1);
      await holder.release();
      const next = await following;
      expect(app.admin.held()).toMatchObject([
        { key, operation: 'second', label: 'next', token: next.token },
      ]);
      await next.release();
    });

    it('waiting() lists queued calls and retrying calls until they are served', async () => {
      const app = await context.app();
      const key = context.key();
      const holder = await app.locks.acquire(key);
      const queued = app.locks.acquire(key, { operation: 'checkout', label: 'order 7' });
      const polling = app.locks.acquire(key, { waitTime: 60_000, retry: { maxAttempts: 1_000 } });
      await until('both wait', () => app.admin.waiting().length === 2);
      const calls = app.admin.waiting();
      expect(calls).toHaveLength(2);
      expect(calls).toContainEqual(
        expect.objectContaining({
          key,
          operation: 'checkout',
          mode: 'exclusive',
          limit: 1,
          label: 'order 7',
        }),
      );
      expect(calls.find(({ operation }) => operation === 'default')).toMatchObject({ key, waitTime: 60_000 });
      await holder.release();
      await (await queued).release();
      await (await polling).release();
      expect(app.admin.waiting()).toEqual([]);
    });

    it('status() counts holds and waits, and reports that the store is reachable', async () => {
      const app = await context.app();
      const key = context.key();
      const holder = await app.locks.acquire(key);
      const waiting = app.locks.acquire(key);
      await until('it waits', () => app.admin.status().waiters === 1);
      const status = app.admin.status();
      expect(status).toMatchObject({
        instance: undefined,
        local: false,
        closing: false,
        holds: 1,
        waiters: 1,
        renewalsFailing: 0,
        recentLosses: 0,
        store: { reachable: true, error: undefined },
      });
      expect(status.leastRemaining).toBeGreaterThan(0);
      expect(status.store.name).not.toBe('');
      expect(status.store.since).toBeGreaterThan(0);
      expect((await app.admin.inspect(key))?.owner.startsWith(`${status.clientId}:`)).toBe(true);
      await holder.release();
      await (await waiting).release();
      expect(app.admin.status()).toMatchObject({ holds: 0, waiters: 0, longestHold: 0, longestWait: 0 });
    });

    it('list() finds locks of every process by a pattern of their keys', async () => {
      const [app, other] = await context.fleet(2);
      const place = context.key();
      const keys = Array.from({ length: 25 }, (_, index) => `${place}[${String(index)}]{a}*`).sort();
      const handles = await Promise.all(keys.map((key) => other.locks.acquire(key, { label: 'listed' })));
      const beside = await other.locks.acquire(`${place}(0)`);
      const found = new Map<string, unknown>();
      let cursor: string | undefined;
      do {
        const some = await app.admin.list({ match: `${place}[*]{?}*`, count: 10, cursor });
        for (const lock of some.locks) found.set(lock.key, lock);
        ({ cursor } = some);
      } while (cursor !== undefined);
      expect([...found.keys()].sort()).toEqual(keys);
      for (const [index, key] of keys.entries()) {
        expect(found.get(key)).toMatchObject({
          key,
          mode: 'exclusive',
          label: 'listed',
          token: handles[index]?.token,
        });
      }
      await Promise.all([...handles, beside].map((handle) => handle.release()));
      expect((await app.admin.list({ match: `${place}*` })).locks).toEqual([]);
    });

    it('F56: list() matches keys with any characters literally, and no pattern slows it down', async () => {
      const app = await context.app();
      const place = context.key();
      const keys = [`${place}\\\\x`, `${place}%_!`, `${place}😀`].sort();
      const long = `${place}${'k'.repeat(200)}`;
      const handles = await Promise.all([...keys, long].map((key) => app.locks.acquire(key)));
      const listed = async (match: string): Promise<string[]> => {
        const found = new Set<string>();
        let cursor: string | undefined;
        do {
          const some = await app.admin.list({ match, count: 1_000, cursor });
          for (const { key } of some.locks) found.add(key);
          ({ cursor } = some);
        } while (cursor !== undefined);
        return [...found].sort();
      };
      expect(await listed(`${place}?`)).toEqual([`${place}😀`]);
      expect(await listed(`${place}\\?x`)).toEqual([`${place}\\\\x`]);
      expect(await listed(`${place}%*`)).toEqual([`${place}%_!`]);
      expect(await listed(`${place}${'*?'.repeat(100)}!`)).toEqual([]);
      expect(await listed(`${place}${'*?'.repeat(100)}k`)).toEqual([long]);
      await Promise.all(handles.map((handle) => handle.release()));
    });

    it('list() rejects invalid arguments', async () => {
      const app = await context.app();
      const cursors = [
        '',
        'half of a pair: \ud800',
        'k'.repeat(2_000),
        'k'.repeat(1_000_000),
        ['1'] as never,
      ];
      const others = [{ match: '' }, { count: 0 }, { limit: 3 } as object];
      for (const options of [...cursors.map((cursor) => ({ cursor })), ...others]) {
        expect(await rejectionOf(app.admin.list(options))).toBeInstanceOf(LockOptionsError);
      }
    });

    it('F56: no cursor makes the store count as unreachable', async () => {
      const app = await context.app();
      const events = eventsOf(app);
      await app.admin.probe();
      const cursors = ['17', 'key', '0@127.0.0.1:1', '7@nowhere:7000', '1.1@', '2.2@', '4.4@', '2.1@7'];
      for (const cursor of cursors) {
        await app.admin.list({ cursor }).catch(() => undefined);
        expect([cursor, app.admin.status().store]).toMatchObject([cursor, { reachable: true }]);
      }
      expect(app.admin.status().store.failingSince).toBeUndefined();
      expect(events).toEqual([]);
    });

    it('probe() sends a request to the store', async () => {
      const app = await context.app();
      expect(await app.admin.probe()).toMatchObject({ store: { reachable: true }, holds: 0 });
    });
  });

  describe('O2, O3: events', () => {
    context.itOfAllKinds('name the kind of their lock', async () => {
      const app = await context.app();
      const events = eventsOf(app);
      const key = context.key();
      const facts = { key, operation: 'stock', mode: 'shared', limit: 2, label: 'deduct' };
      const handle = await app.locks.acquire(key, { operation: 'stock', limit: 2, label: 'deduct' });
      await handle.release();
      expect(events).toMatchObject([
        { type: 'granted', ...facts },
        { type: 'released', ...facts },
      ]);
    });

    it('a tryAcquire without success emits skipped, not timeout', async () => {
      const app = await context.app();
      const events = eventsOf(app);
      const key = context.key();
      const handle = await app.locks.acquire(key);
      expect(await app.locks.tryAcquire(key, { operation: 'cron' })).toBeNull();
      expect(await app.locks.tryAcquire(key, { waitTime: 20 })).toBeNull();
      await rejectionOf(app.locks.acquire(key, { waitTime: 0 }));
      const ends = events.filter(({ type }) => type === 'skipped' || type === 'timeout');
      expect(ends).toMatchObject([
        { type: 'skipped', key, operation: 'cron' },
        { type: 'skipped', key, operation: 'default' },
        { type: 'timeout', key },
      ]);
      await handle.release();
    });

    it.each([
      ['in the queue', {}],
      ['that makes one attempt', { waitTime: 0 }],
      ['that retries', { retry: {} }],
    ])('a call %s that is aborted is reported', async (_, options) => {
      const app = await context.app();
      const key = context.key();
      const handle = await app.locks.acquire(key);
      const events = eventsOf(app);
      const abort = new AbortController();
      const calling = rejectionOf(
        app.locks.acquire(key, { ...options, signal: abort.signal, operation: 'a' }),
      );
      abort.abort(new Error('enough'));
      expect(await calling).toMatchObject({ message: 'enough' });
      expect(events.filter(({ type }) => type === 'aborted')).toMatchObject([
        { key, operation: 'a', mode: 'exclusive' },
      ]);
      expect(events.filter(({ type }) => type === 'timeout')).toEqual([]);
      await handle.release();
    });

    it('waits ended by shutdown are reported', async () => {
      const app = await context.app();
      const other = await context.app();
      const keys = [context.key(), context.key()].sort();
      const [first = '', second = ''] = keys;
      const handles = await Promise.all([other.locks.acquire(first), other.locks.acquire(second)]);
      const events = eventsOf(app);
      const calls = [
        app.locks.acquire(first, { operation: 'one' }),
        app.locks.acquire(keys, { operation: 'both' }),
      ];
      const failing = calls.map((call) => rejectionOf(call));
      await until('both wait', () => app.admin.waiting().length === 2);
      await app.close();
      for (const failure of failing) expect(await failure).toBeInstanceOf(LockClosedError);
      expect(events.filter(({ type }) => type === 'closed')).toMatchObject([
        { key: first, operation: 'one' },
        { key: first, operation: 'both' },
      ]);
      for (const handle of handles) await handle.release();
    });
  });

  describe('O4: diagnostics channels', () => {
    it('every event of the process is published', async () => {
      const app = await context.app();
      const key = context.key();
      const messages: LockEventMessage[] = [];
      const keep = (message: LockEventMessage): unknown => messages.push(message);
      await withSubscriber('nestjs-distributed-lock:event', keep, async () => {
        await app.locks.withLock(key, { operation: 'work' }, () => undefined);
        await until('the release is published', () => messages.length === 2);
      });
      await app.locks.withLock(key, () => undefined);
      expect(messages).toMatchObject([
        { instance: undefined, event: { type: 'granted', key, operation: 'work' } },
        { instance: undefined, event: { type: 'released', key, operation: 'work' } },
      ]);
    });

    it('every request to the store is published when its reply arrives', async () => {
      const app = await context.app();
      const key = context.key();
      const messages: StoreRequestMessage[] = [];
      const keep = (message: StoreRequestMessage): unknown => messages.push(message);
      await withSubscriber('nestjs-distributed-lock:request', keep, async () => {
        const handle = await app.locks.acquire(key);
        await handle.extend(60_000);
        await app.admin.inspect(key);
        expect(await handle.release()).toBe('released');
      });
      const operations = messages.map(({ request }) => request);
      expect(operations).toEqual(expect.arrayContaining(['acquire', 'renew', 'inspect', 'release']));
      for (const { duration, error, instance } of messages) {
        expect(duration).toBeGreaterThanOrEqual(0);
        expect([error, instance]).toEqual([undefined, undefined]);
      }
    });

    it('calls are traced with their outcome, and work under a lock with its handle', async () => {
      context.leavesLocks();
      const app = await context.app();
      const key = context.key();
      const acquires: [string, AcquireTrace][] = [];
      const holds: [string, HoldTrace][] = [];
      const acquiring = tracingChannel<unknown, AcquireTrace>('nestjs-distributed-lock:acquire');
      const holding = tracingChannel<unknown, HoldTrace>('nestjs-distributed-lock:hold');
      const recording = <T>(list: [string, T][]) => ({
        start: (trace: T) => void list.push(['start', { ...trace }]),
        asyncEnd: (trace: T) => void list.push(['end', { ...trace }]),
        end: () => undefined,
        asyncStart: () => undefined,
        error: () => undefined,
      });
      const [traced, work] = [recording(acquires), recording(holds)];
      acquiring.subscribe(traced);
      holding.subscribe(work);
      try {
        const result = await app.locks.withLock(key, { operation: 'work', label: 'l' }, async (lock) => {
          expect(await app.locks.tryAcquire(`${key}-2`)).not.toBeNull();
          return lock.token;
        });
        expect(result).toBeGreaterThan(0);
        const failed = await rejectionOf(
          app.locks.withLock(key, () => {
            throw new Error('of the work');
          }),
        );
        expect(failed).toMatchObject({ message: 'of the work' });
        await app.locks.withLock(key, async () => {
          await rejectionOf(Promise.resolve().then(() => app.locks.acquire(`${key}-2`, { waitTime: 0 })));
        });
      } finally {
        acquiring.unsubscribe(traced);
        holding.unsubscribe(work);
      }
      expect(
        acquires
          .filter(([step]) => step === 'end')
          .map(([, { keys, operation, outcome }]) => [keys, operation, outcome]),
      ).toEqual([
        [[key], 'work', 'granted'],
        [[`${key}-2`], 'default', 'granted'],
        [[key], 'default', 'granted'],
        [[key], 'default', 'granted'],
        [[`${key}-2`], 'default', 'timeout'],
      ]);
      expect(acquires[0]).toMatchObject(['start', { keys: [key], label: 'l', mode: 'exclusive', limit: 1 }]);
      expect(
        holds.map(([step, { keys, error }]) => [step, keys, (error as Error | undefined)?.message]),
      ).toEqual([
        ['start', [key], undefined],
        ['end', [key], undefined],
        ['start', [key], undefined],
        ['end', [key], 'of the work'],
        ['start', [key], undefined],
        ['end', [key], undefined],
      ]);
    });

    it('a subscriber may run the work in its own async context', async () => {
      const app = await context.app();
      const steps: string[] = [];
      const start = (trace: HoldTrace): void => {
        trace.around = async (work) => {
          steps.push('before');
          const result = await work();
          steps.push('after');
          return result;
        };
      };
      await withSubscriber('tracing:nestjs-distributed-lock:hold:start', start, async () => {
        const result = await app.locks.withLock(context.key(), () => {
          steps.push('work');
          return 7;
        });
        expect(result).toBe(7);
      });
      expect(steps).toEqual(['before', 'work', 'after']);
    });
  });
}
