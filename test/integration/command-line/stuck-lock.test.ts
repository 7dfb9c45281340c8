import { describe, expect, it } from '@jest/globals';
import { RedisScene } from '../../faults/redis-scene.js';
import { CommandLine } from '../../support/command-line.js';
import { queuedIn } from '../../support/lock-app.js';
import { WorkerProcess } from '../../support/worker-process.js';

const MINUTE = 60_000;

/** Follows docs/operations/runbook.md, "A lock is stuck", step by step. */
describe('O25: a lock held by a stopped process', () => {
  const scene = new RedisScene();

  it('is found by key, host and pid and broken within a minute, by the command line alone', async () => {
    const key = 'nightly:invoices';
    const stuck = await WorkerProcess.start({ redis: scene.url });
    scene.until(stuck);
    // Too long to wait for the lease to expire.
    const token = await stuck.do('acquire', { key, options: { leaseTime: 60 * MINUTE } });
    for (let index = 0; index < 20; index += 1) await stuck.do('acquire', { key: `other:${String(index)}` });
    stuck.stop();
    const app = await scene.app();
    const waiting = app.locks.acquire(key, { waitTime: 5 * MINUTE });
    await queuedIn(app, key);

    const startedAt = performance.now();
    const command = (...args: string[]): ReturnType<typeof CommandLine.run> => CommandLine.run(args);
    const place = ['--redis', scene.url, '--key-prefix', 'lock:'];

    // Step 1 of the runbook: the oldest hold with waiters.
    const { stdout: table } = await command('list', ...place);
    const rows = table.trimEnd().split('\n').slice(1);
    const waitedFor = rows.filter((row) => !row.endsWith(' 0'));
    expect(waitedFor).toHaveLength(1);
    const [name = ''] = waitedFor[0]!.split(/\s{2,}/);
    expect(name).toBe(key);

    const { stdout: shown } = await command('show', name, ...place);
    const [, host, pid] = /held by {2}(\S+) pid (\d+)/.exec(shown) ?? [];
    const info = await app.admin.inspect(key);
    expect({ host, pid: Number(pid) }).toEqual(info?.process);
    const [, advice = ''] = /^to break it: npx nestjs-distributed-lock (.*)$/m.exec(shown) ?? [];
    expect(advice).toBe(`break ${key} --token ${String(token)} ${place.join(' ')}`);

    const broken = await command(...advice.split(' '), '--yes');
    expect(broken.code).toBe(0);
    const next = await waiting;
    expect(performance.now() - startedAt).toBeLessThan(MINUTE);
    expect(next.token).toBeGreaterThan(token);

    // The stopped process continues, and does not disturb the next holder.
    stuck.resume();
    expect(await stuck.do('release', { as: key })).toBe('expired');
    expect(await app.admin.inspect(key)).toMatchObject({ token: next.token });
  });
});
