import { describe, expect, it } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';
import { rejectionOf, until, within } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

/** Which `AsyncLocalStorage` each piece of code sees: listeners see the module's own, work under a lock its caller's. */
export function asyncContextRules(context: ContractContext): void {
  describe('async contexts', () => {
    it('listeners never run in the context of a request, even if that request opened the connection or armed the timer', async () => {
      const requests = new AsyncLocalStorage<string>();
      const [app, other] = await context.fleet(2, { watchdogTimeout: 900 });
      const [handed, broken, expiring, busy] = Array.from({ length: 4 }, () => context.key()) as [
        string,
        string,
        string,
        string,
      ];
      const seen: (readonly [what: string, under: string | undefined])[] = [];
      const note = (what: string): void => void seen.push([what, requests.getStore()]);
      app.locks.events.subscribe(({ type }) => {
        note(type);
      });
      // Nest has one logger for all applications of a process.
      for (const { log } of [app, other]) {
        const warn = log.warn.bind(log);
        log.warn = (message) => {
          note('log line');
          warn(message);
        };
      }
      /** A request with that id. All its continuations see the same id. */
      const request = <T>(id: string, work: () => Promise<T>): Promise<T> =>
        requests.run(id, async () => {
          try {
            return await work();
          } finally {
            expect(requests.getStore()).toBe(id);
          }
        });
      const taker = await other.locks.acquire(busy);
      const first = await request('first', () => app.locks.acquire(handed));
      const waiting = request('second', () => app.locks.withLock(handed, () => requests.getStore()));
      const late = request('third', () => rejectionOf(app.locks.acquire(busy, { waitTime: 300 })));
      const next = request('fourth', () => app.locks.acquire(busy, { waitTime: 10_000 }));
      const lost = await request('fifth', () => app.locks.acquire(broken));
      const over = await request('sixth', () => app.locks.acquire(expiring, { leaseTime: 200 }));
      for (const { signal } of [lost, over]) {
        requests.run('listener', () => {
          signal.addEventListener('abort', () => {
            note('abort');
          });
        });
      }
      await late;
      await request('seventh', () => first.release());
      expect(await within(10_000, 'the hand-over', waiting)).toBe('second');
      await taker.release();
      await (await within(10_000, 'the lock of the other process', next)).release();
      await request('eighth', () => other.admin.forceRelease(broken));
      // The first code that looks at a hold may be the first to detect its end.
      await until('both losses are known', () => request('ninth', async () => !lost.isHeld && !over.isHeld));
      await until('both signals', () => seen.filter(([what]) => what === 'abort').length === 2);
      await request('last', () => app.close());
      const kinds = new Set(seen.map(([what]) => what));
      for (const kind of ['granted', 'queued', 'timeout', 'released', 'lost', 'abort', 'log line'])
        expect(kinds).toContain(kind);
      expect(seen.filter(([, under]) => under !== undefined)).toEqual([]);
    });
  });
}
