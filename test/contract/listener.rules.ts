import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError, type LockEvent, type LockHandle, type LockOptions } from '../../lib/index.js';
import { withUncaughtCollected } from '../support/uncaught.js';
import { blockEventLoop, rejectionOf, until, within } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

/** Listeners of events can't change an outcome or end the process. */
export function listenerRules(context: ContractContext): void {
  describe('listeners', () => {
    const calls: Record<string, LockOptions> = {
      'that waits': { waitTime: 25 },
      'that makes one attempt': { waitTime: 0 },
      'that retries': { waitTime: 25, retry: { maxAttempts: 2 } },
      'that wants a shared lock exclusively': { waitTime: 25, limit: 1 },
      'that wants a read lock': { waitTime: 25, mode: 'shared' },
      'for several locks': { waitTime: 25 },
    };
    for (const [what, options] of context.supported(Object.entries(calls))) {
      if (context.isExclusive && options.limit === 1) continue;
      it(`B10, B12, F26: a listener that frees the lock on a timeout event does not serve the call ${what}`, async () => {
        const app = await context.app();
        const [other = '', key = ''] = [context.key(), context.key()].sort();
        const requested = what === 'for several locks' ? [other, key] : key;
        const held = options.limit === 1 ? { mode: 'shared' as const } : {};
        const handle = await app.locks.acquire(key, held);
        let released: Promise<unknown> | undefined;
        app.locks.events.subscribe(({ type }) => {
          if (type === 'timeout') released ??= handle.release();
        });
        expect(await rejectionOf(app.locks.acquire(requested, options))).toBeInstanceOf(LockTimeoutError);
        expect(await released).toBe('released');
        expect(app.events('timeout', key)).toHaveLength(1);
        expect(app.events('granted', key)).toHaveLength(1);
      });
    }

    it('B52, F26: a listener that ends the branch inside on a timeout event does not serve the other branch', async () => {
      const app = await context.app();
      const key = context.key();
      let inner: LockHandle | undefined;
      app.locks.events.subscribe(({ type }) => {
        if (type === 'timeout') void inner?.release();
      });
      await app.locks.withLock(key, async () => {
        inner = await app.locks.acquire(key);
        expect(await rejectionOf(app.locks.acquire(key, { waitTime: 30 }))).toBeInstanceOf(LockTimeoutError);
        expect(inner.isHeld).toBe(false);
      });
    });

    it('B11, F26: an abort by a listener of the timeout event comes too late', async () => {
      const app = await context.app();
      const key = context.key();
      const handle = await app.locks.acquire(key);
      const abort = new AbortController();
      app.locks.events.subscribe(({ type }) => {
        if (type === 'timeout') abort.abort(new Error('too late'));
      });
      const { signal } = abort;
      for (const options of [
        { waitTime: 0 },
        { waitTime: 40 },
        { waitTime: 40, retry: { maxAttempts: 1 } },
      ]) {
        const calling = app.locks.acquire(key, { ...options, ...(!signal.aborted && { signal }) });
        expect(await rejectionOf(calling)).toBeInstanceOf(LockTimeoutError);
      }
      await handle.release();
    });

    it('B23: a released hold is not reported lost, even if a listener takes longer than its lease', async () => {
      const app = await context.app();
      const key = context.key();
      const later: Promise<LockHandle>[] = [];
      app.locks.events.subscribe((event: LockEvent) => {
        if (event.type !== 'released' || later.length > 0) return;
        blockEventLoop(150);
        later.push(app.locks.acquire(key));
      });
      const handle = await app.locks.acquire(key, { leaseTime: 100 });
      const outcome = await handle.release();
      expect(['released', 'expired']).toContain(outcome);
      for (const next of await within(5_000, 'the next hold', Promise.all(later))) await next.release();
      expect(app.events('lost', key)).toEqual([]);
    });

    context.itOfAllKinds(
      'B15, F26: a listener that ends the other reader of the process does not turn good work into a loss',
      async () => {
        const app = await context.app();
        const key = context.key();
        let other: LockHandle | undefined;
        let otherReleased: Promise<unknown> | undefined;
        app.locks.events.subscribe(({ type }) => {
          if (type === 'released') otherReleased ??= other?.release();
        });
        const work = app.locks.withLock(key, { mode: 'shared', onLost: 'throw' }, async () => {
          other = await app.locks.acquire(key, { mode: 'shared', reentrant: false });
          return 'value';
        });
        expect(await work).toBe('value');
        expect(await otherReleased).toBe('released');
        expect(app.events('lost', key)).toEqual([]);
      },
    );

    it('F26: an async listener that rejects leaves no unhandled rejection, and a line in the log', async () => {
      const app = await context.app();
      const key = context.key();
      // The return value of an async function whose promise is not awaited.
      const fail = (): unknown => Promise.reject(new Error('of the async listener'));
      const uncaught = await withUncaughtCollected(async () => {
        app.locks.events.subscribe(fail);
        app.locks.events.subscribe({ next: fail });
        const handle = await app.locks.acquire(key, { leaseTime: 50 });
        handle.signal.addEventListener('abort', fail);
        handle.signal.onabort = fail;
        await until('the loss is known', () => handle.signal.aborted);
        await handle.release();
        await until('all is logged', () => app.log.matching('of the async listener').length >= 6);
      });
      expect(uncaught).toEqual([]);
      expect(app.log.matching(/listener.*"lost".*of the async listener/)).toHaveLength(2);
      expect(app.log.matching(/signal.*of the async listener/)).toHaveLength(2);
    });
  });
}
