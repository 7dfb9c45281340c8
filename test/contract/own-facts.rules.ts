import { describe, expect, it } from '@jest/globals';
import type { HoldTrace } from '../../lib/model/lock-channels.js';
import type { LockHandle } from '../../lib/index.js';
import type { LockApp } from '../support/lock-app.js';
import { withSubscriber } from '../support/subscriber.js';
import { next } from '../support/until.js';
import type { ContractContext } from './contract-context.js';
import { begin, type RunningWork } from './running-work.js';

const factsOf = (lock: LockHandle | undefined): object => {
  if (lock === undefined) throw new Error('there is no hold');
  const { token, acquiredAt } = lock;
  const { operation, label } = lock as LockHandle & {
    readonly operation: string;
    readonly label: string | undefined;
  };
  return { token, acquiredAt, operation, label };
};

/** Several holds of a process may share one lease. Each has its own token, label, operation and start. */
export function ownFactsRules(context: ContractContext): void {
  describe('the properties of holds that share a lease', () => {
    const readers = async (
      app: LockApp,
      key: string,
    ): Promise<readonly [RunningWork, RunningWork, RunningWork]> => {
      const shared = { mode: 'shared' } as const;
      return [
        await begin(app, key, { ...shared, label: 'A', operation: 'first' }),
        await begin(app, key, { ...shared, label: 'B', operation: 'second' }),
        await begin(app, key, { ...shared, label: 'C', operation: 'third' }),
      ];
    };

    it("B50: re-entry of a reader keeps that reader's token, label, operation and acquiredAt", async () => {
      const app = await context.app();
      const key = context.key();
      const works = await readers(app, key);
      for (const work of works) {
        const outer = factsOf(work.lock);
        await work.inside(async () => {
          expect(factsOf(app.locks.current(key))).toEqual(outer);
          await app.locks.withLock(key, { mode: 'shared' }, (inner) => {
            expect(factsOf(inner)).toEqual(outer);
            expect(factsOf(app.locks.current(key))).toEqual(outer);
          });
          const inner = await app.locks.acquire(key, { mode: 'shared' });
          expect(factsOf(inner)).toEqual(outer);
          await inner.release();
        });
      }
      await Promise.all(works.map((work) => work.end()));
    });

    it('O4: work inside a reader is traced under that reader', async () => {
      const app = await context.app();
      const key = context.key();
      const works = await readers(app, key);
      const traced: object[] = [];
      const note = ({ operation, label, keys }: HoldTrace): void => {
        if (keys[0] === key) traced.push({ operation, label });
      };
      await withSubscriber('tracing:nestjs-distributed-lock:hold:start', note, async () => {
        for (const work of works) {
          await work.inside(() => app.locks.withLock(key, { mode: 'shared' }, () => undefined));
          await work.inside(() => work.lock.run(() => undefined));
        }
      });
      const [a, b, c] = [
        { operation: 'first', label: 'A' },
        { operation: 'second', label: 'B' },
        { operation: 'third', label: 'C' },
      ];
      expect(traced).toEqual([a, a, b, b, c, c]);
      await Promise.all(works.map((work) => work.end()));
    });

    it('O2: events of a lease are emitted for each hold on it, and for no other', async () => {
      const app = await context.app({ watchdogTimeout: 900 });
      const key = context.key();
      const [first, second, third] = await readers(app, key);
      // The newest hold has ended, so nothing may be emitted for it any more.
      await third.end();
      app.seen.length = 0;
      const isOf = (label: string) => (event: (typeof app.seen)[number]) =>
        event.type === 'renewed' && event.label === label;
      await Promise.all([next(app.locks.events, isOf('A')), next(app.locks.events, isOf('B'))]);
      const renewed = app
        .events('renewed', key)
        .map(({ token, operation, label }) => ({ token, operation, label }));
      expect(renewed).toContainEqual({ token: first.lock.token, operation: 'first', label: 'A' });
      expect(renewed).toContainEqual({ token: second.lock.token, operation: 'second', label: 'B' });
      expect(renewed.filter(({ label }) => label === 'C')).toEqual([]);
      await Promise.all([first.end(), second.end()]);
    });

    it('B16: inspect() shows the oldest current hold of this process', async () => {
      const app = await context.app();
      const key = context.key();
      const [first, second, third] = await readers(app, key);
      await third.end();
      const shown = async (): Promise<object | undefined> => {
        const { token, acquiredAt, label } = (await app.admin.inspect(key)) ?? {};
        return { token, acquiredAt, label };
      };
      const expected = ({ lock: { token, acquiredAt } }: RunningWork, label: string): object => ({
        token,
        acquiredAt,
        label,
      });
      expect(await shown()).toEqual(expected(first, 'A'));
      await first.end();
      expect(await shown()).toEqual(expected(second, 'B'));
      await second.end();
    });

    it('B12, B50: several keys, one of which is re-entered, are one hold with their own label and operation', async () => {
      const app = await context.app();
      const [one, other] = [context.key(), context.key()].sort() as [string, string];
      await app.locks.withLock(one, { label: 'outer', operation: 'around' }, async (outer) => {
        await app.locks.withLock([one, other], { label: 'inner', operation: 'inside' }, (both) => {
          expect(both.tokens.get(one)).toBe(outer.token);
          expect(factsOf(both)).toMatchObject({ label: 'inner', operation: 'inside' });
        });
      });
    });
  });
}
