import { describe, expect, it } from '@jest/globals';
import { backoff, MemoryLockStore, type LockOptions } from '../../../lib/index.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { type LockApp, lockApps } from '../../support/lock-app.js';
import { elapse, rejectionOf } from '../../support/until.js';

inVirtualTime();

const warning = /has waited for it/;

describe('a wait without limit', () => {
  const start = lockApps({ store: 'memory', shutdownTimeout: 0 });
  const endless = { waitTime: Infinity };

  const ways: readonly (readonly [string, LockOptions])[] = [
    ['in the queue', endless],
    ['retrying', { ...endless, retry: { backoff: backoff.fixed(300) } }],
  ];

  it.each(ways)('names the open handle of its own process after 10 s, once, %s', async (_, options) => {
    const app = await start();
    const handle = await app.locks.acquire('k', { label: 'import' });
    const waiting = [app.locks.acquire('k', options), app.locks.acquire(['j', 'k'], options)];
    await elapse(9_900);
    expect(app.log.matching(warning)).toEqual([]);
    await elapse(60_000);
    expect(app.log.matching(warning)).toEqual([
      expect.stringMatching(
        /^The lock "k" is held by this process, and a call has waited for it for 10\.0 s, without a limit \(waitTime: Infinity\)\. The holder is \S+ pid \d+ \("import"\) since \S+, by a handle of acquire\(\) that is not released\. .* run that work in handle\.run\(fn\)/,
      ),
    ]);
    await handle.release();
    for (const next of waiting) await (await next).release();
    expect(app.log.matching(warning)).toHaveLength(1);
  });

  it.each(ways)(
    'names the holder of each of two nested locks that are acquired in opposite order, %s',
    async (_, options) => {
      const store = new MemoryLockStore();
      const [one, two] = [await start({ store }), await start({ store })];
      const stop = new AbortController();
      const nested = (app: LockApp, outer: string, inner: string): Promise<unknown> =>
        rejectionOf(
          app.locks.withLock(outer, { label: outer }, async () => {
            await elapse(100);
            await app.locks.acquire(inner, { ...options, signal: stop.signal });
          }),
        );
      const calls = [nested(one, 'a', 'b'), nested(two, 'b', 'a')];
      for (let second = 0; second < 60; second += 1) await elapse(1_000);
      const line = (wanted: string, held: string): unknown =>
        expect.stringMatching(
          new RegExp(
            `^The lock "${wanted}" is held by another caller, and a call has waited .* The holder is \\S+ pid \\d+ \\("${wanted}"\\) since .* The caller holds "${held}" meanwhile: nested locks must be acquired in the same order everywhere\\.$`,
          ),
        );
      // Nest has one logger for both.
      expect([...two.log.matching(warning)].sort()).toEqual([line('a', 'b'), line('b', 'a')]);
      stop.abort('enough');
      expect(await Promise.all(calls)).toEqual(['enough', 'enough']);
    },
  );

  it('warns of a branch that waits for another one of its scope, and of a call that does not re-enter', async () => {
    const app = await start();
    const stop = new AbortController();
    const options = { ...endless, signal: stop.signal };
    await app.locks.withLock('k', async () => {
      const branch = app.locks.withLock('k', () =>
        Promise.all([rejectionOf(app.locks.acquire('k', { ...options, reentrant: false })), branchThatWaits]),
      );
      const branchThatWaits = rejectionOf(app.locks.acquire('k', options));
      await elapse(60_000);
      stop.abort('enough');
      await branch;
    });
    expect([...app.log.matching(warning)].sort()).toEqual([
      expect.stringContaining('reentrant is false: the call waits for its own lock'),
      expect.stringContaining('is re-entered by another branch of the same scope, and a call has waited'),
    ]);
  });

  it('is no reason for a warning if its caller holds nothing, the holder is work in a scope, or the wait ends in time', async () => {
    const app = await start();
    const work = app.locks.withLock('k', () => elapse(30_000));
    const standby = app.locks.withLock('k', endless, () => undefined);
    const handle = await app.locks.acquire('other');
    const brief = app.locks.withLock('other', endless, () => undefined);
    await elapse(9_000);
    await handle.release();
    await Promise.all([work, standby, brief]);
    expect(app.log.matching(warning)).toEqual([]);
  });
});
