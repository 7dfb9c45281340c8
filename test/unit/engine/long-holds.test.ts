import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LockHealthIndicator } from '../../../lib/health/index.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { type LockApp, lockApps } from '../../support/lock-app.js';
import { elapse } from '../../support/until.js';
import { VirtualTime } from '../../support/virtual-time.js';

inVirtualTime();

const MINUTE = 60_000;
const warning = /has been held for/;

describe('warnHeldAfter', () => {
  const start = lockApps({ store: 'memory', shutdownTimeout: 0 });
  const { NODE_ENV } = process.env;
  beforeEach(() => {
    process.env['NODE_ENV'] = 'test';
  });
  afterEach(() => {
    process.env['NODE_ENV'] = NODE_ENV;
  });

  const reasonsOf = async ({ admin }: LockApp): Promise<readonly string[]> => {
    const { locks: health } = await new LockHealthIndicator(admin).isHealthy('locks');
    return health.reasons;
  };

  it('logs a hold longer than ten minutes once, with its label, its operation and the call site of acquire()', async () => {
    const app = await start();
    async function forgetful(): Promise<void> {
      await app.locks.acquire('order:1', { label: 'import', operation: 'orders' });
    }
    await forgetful();
    await elapse(9.9 * MINUTE);
    expect(app.log.matching(warning)).toEqual([]);
    expect(app.admin.status().longHolds).toBe(0);
    expect(await reasonsOf(app)).toEqual([]);
    await elapse(30 * MINUTE);
    const [line = '', ...others] = app.log.matching(warning);
    expect(others).toEqual([]);
    expect(line).toMatch(
      /^The lock "order:1" \(label "import", operation "orders"\) has been held for 10 min \d+ s, longer than warnHeldAfter\./,
    );
    expect(line).toMatch(
      /release\(\) may be missing.*acquire\(\) was called\n\s+at .*long-holds\.test\.ts:\d+:\d+/s,
    );
    expect(app.admin.status().longHolds).toBe(1);
    expect(app.admin.held()[0]?.callSite).toMatch(/^at .*long-holds\.test\.ts:\d+/);
    const [reason = ''] = await reasonsOf(app);
    expect(reason).toMatch(
      /^1 hold longer than warnHeldAfter, the oldest for \d+\.\d s, label "import", acquired at .*long-holds\.test\.ts:\d+/,
    );
    expect(reason).not.toContain('order:1');
  });

  it('is at most 5 % late, also for a handed-over hold and for readers', async () => {
    const app = await start({ warnHeldAfter: 10_000 });
    const first = await app.locks.acquire('key', { label: 'first' });
    const second = app.locks.acquire('key', { label: 'second', waitTime: Infinity });
    await elapse(9_000);
    await first.release();
    await second;
    const a = await app.locks.acquire('read', { mode: 'shared', label: 'a' });
    await app.locks.acquire('read', { mode: 'shared', label: 'b' });
    await elapse(5_000);
    await a.release();
    expect(app.log.matching(warning)).toEqual([]);
    await elapse(5_600);
    expect(
      app.log
        .matching(warning)
        .map((line) => /label "(\w+)"/.exec(line)?.[1])
        .sort(),
    ).toEqual(['b', 'second']);
    await elapse(60_000);
    expect(app.log.matching(warning)).toHaveLength(2);
  });

  it('reports that work in a scope may hang, and captures no call site for it', async () => {
    const app = await start({ warnHeldAfter: 1_000 });
    await app.locks.withLock('key', async () => {
      await elapse(1_100);
    });
    expect(app.log.matching(warning)).toEqual([
      expect.stringMatching(/held for 1\.0 s.* Its work may hang\./),
    ]);
    expect(app.log.matching('was called')).toEqual([]);
    expect(app.admin.status().longHolds).toBe(0);
  });

  it('B53: reports a hold that re-entered work keeps after its scope, and blames no handle once there is none', async () => {
    const app = await start({ warnHeldAfter: 1_000 });
    const outer = await app.locks.acquire('key', { label: 'outer' });
    await outer.run(() => {
      void app.locks.withLock('key', () => elapse(5_000));
    });
    expect(await outer.release()).toBe('kept');
    await elapse(1_100);
    expect(app.log.matching(warning)).toEqual([
      expect.stringMatching(/label "outer".* held for 1\.0 s.* Its work may hang\./),
    ]);
    expect(app.admin.status().longHolds).toBe(1);
    await elapse(4_000);
    expect(app.admin.status()).toMatchObject({ longHolds: 0, holds: 0 });
  });

  it('does not report call sites in production', async () => {
    process.env['NODE_ENV'] = 'production';
    const app = await start({ warnHeldAfter: 1_000 });
    await app.locks.acquire('key', { label: 'import' });
    await elapse(2_000);
    expect(app.log.matching(warning)).toEqual([expect.stringMatching(/label "import".*set it to false\.$/)]);
    expect(app.admin.held()[0]?.callSite).toBeUndefined();
    expect(await reasonsOf(app)).toEqual([expect.stringMatching(/label "import"$/)]);
  });

  it('is disabled by false', async () => {
    const app = await start({ warnHeldAfter: false });
    await app.locks.acquire('key');
    await elapse(120 * MINUTE);
    expect(app.log.matching(warning)).toEqual([]);
    expect(app.admin.status().longHolds).toBe(0);
    expect(app.admin.held()[0]?.callSite).toBeUndefined();
  });

  it('captures at most a thousand call sites a second', async () => {
    const app = await start();
    await Promise.all(Array.from({ length: 3_000 }, (_, index) => app.locks.acquire(`key-${index}`)));
    const captured = (): number => app.admin.held().filter(({ callSite }) => callSite !== undefined).length;
    expect(captured()).toBeLessThanOrEqual(2_000);
    expect(captured()).toBeGreaterThanOrEqual(1_000);
    await elapse(1_100);
    const before = captured();
    await app.locks.acquire('one more');
    expect(captured()).toBe(before + 1);
  });

  it('B14, B21: has one timer for all holds, and none without holds', async () => {
    const app = await start({ warnHeldAfter: 5_000 });
    const handles = await Promise.all(
      Array.from({ length: 500 }, (_, index) => app.locks.acquire(`key-${index}`)),
    );
    await elapse(100);
    expect(VirtualTime.timerCount().virtual).toBeLessThan(5);
    await elapse(6_000);
    expect(app.log.matching(warning)).toHaveLength(500);
    await Promise.all(handles.map((handle) => handle.release()));
    await elapse(100);
    expect(VirtualTime.timerCount().virtual).toBe(0);
  });
});
