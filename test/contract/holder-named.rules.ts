import { describe, expect, it } from '@jest/globals';
import { hostname } from 'node:os';
import { backoff, LockTimeoutError, type LockOptions } from '../../lib/index.js';
import type { LockApp } from '../support/lock-app.js';
import { rejectionOf } from '../support/until.js';
import type { ContractContext } from './contract-context.js';
import { begin } from './running-work.js';

const here = `${hostname().replace(/[^\w.-]/g, '_')} pid ${process.pid}`;
const ownProcess = { host: hostname().replace(/[^\w.-]/g, '_'), pid: process.pid };

async function timeoutOf(app: LockApp, key: string, options: LockOptions): Promise<LockTimeoutError> {
  const error = await rejectionOf(app.locks.acquire(key, options));
  expect(error).toBeInstanceOf(LockTimeoutError);
  return error as LockTimeoutError;
}

/** On a busy machine the store may reply too late to name the holder. */
async function timeoutWithHolder(app: LockApp, key: string, options: LockOptions): Promise<LockTimeoutError> {
  for (let tries = 1; ; tries += 1) {
    const start = performance.now();
    const error = await timeoutOf(app, key, options);
    expect(performance.now() - start).toBeLessThan(2_000);
    if (error.holder !== undefined || tries === 5) return error;
  }
}

/** The `LockTimeoutError` names the holder where it is known or quickly found. */
export function holderNamedRules(context: ContractContext): void {
  describe('the holder in a LockTimeoutError', () => {
    /** The engine waits only briefly for the store to name the holder. */
    const isFar = (): boolean => context.store.delay > 20;

    const waits: readonly (readonly [string, LockOptions])[] = [
      ['waiting in the queue', { waitTime: 700 }],
      ['retrying', { waitTime: 700, retry: { backoff: backoff.fixed(100) } }],
      ['not waiting', { waitTime: 0 }],
    ];

    it.each(waits)(
      'names this process and handle.run() when a handle of this process blocks the call, %s',
      async (_, options) => {
        const app = await context.app();
        const key = context.key();
        const handle = await app.locks.acquire(key, { label: 'import' });
        const { message, holder } = await timeoutOf(app, key, options);
        const since = new Date(handle.acquiredAt).toISOString();
        expect(message).toContain(
          `The holder is ${here} ("import") since ${since}, by a handle of acquire()`,
        );
        expect(message).toMatch(/ held by this process.* run that work in handle\.run\(fn\)/);
        expect(message).not.toMatch(/held by another caller|Increase waitTime/);
        expect(holder).toEqual({
          token: handle.token,
          acquiredAt: handle.acquiredAt,
          label: 'import',
          process: ownProcess,
        });
        // Following the advice works: inside handle.run() the lock is re-entered.
        expect(await handle.run(() => app.locks.withLock(key, options, (lock) => lock.token))).toBe(
          handle.token,
        );
        await handle.release();
      },
    );

    it('names this process and no handle when work in a scope blocks the call', async () => {
      const app = await context.app();
      const key = context.key();
      const work = await begin(app, key, { label: 'import' });
      const { message } = await timeoutOf(app, key, { waitTime: 200 });
      expect(message).toContain('was held by another caller for the whole waitTime');
      expect(message).toMatch(
        new RegExp(`The holder is ${here} \\("import"\\) since \\S+Z, which is this process\\.`),
      );
      expect(message).not.toContain('handle.run');
      await work.end();
    });

    it.each(waits.slice(0, 2))(
      'names host, process, label and start of the hold of another process, %s',
      async (_, options) => {
        if (isFar()) return;
        const [app, other] = await context.fleet(2);
        const key = context.key();
        const handle = await other.locks.acquire(key, { label: 'import' });
        const { message, holder } = await timeoutWithHolder(app, key, options);
        const since = new Date(handle.acquiredAt).toISOString();
        expect(message).toContain(`The holder is ${here} ("import") since ${since}.`);
        expect(message).toMatch(
          /was held by another caller .* Increase waitTime, or hold the lock for a shorter time\.$/,
        );
        expect(holder).toMatchObject({ acquiredAt: handle.acquiredAt, label: 'import', process: ownProcess });
        // A caller that skips without the lock sends no further request.
        expect(await app.locks.tryAcquire(key, { waitTime: 100 })).toBeNull();
        await handle.release();
      },
    );

    context.itOfAllKinds('names the oldest of several holders and the number of the others', async () => {
      if (isFar()) return;
      const [app, one, two] = await context.fleet(3);
      const key = context.key();
      const first = await one.locks.acquire(key, { limit: 2, label: 'first' });
      const second = await two.locks.acquire(key, { limit: 2, label: 'second' });
      const { message } = await timeoutWithHolder(app, key, { limit: 2, waitTime: 300 });
      expect(message).toMatch(/The holder is .* \("first"\) since \S+Z and 1 more\./);
      await Promise.all([first.release(), second.release()]);
    });
  });
}
