import { describe, expect, it } from '@jest/globals';
import { RedisScene } from '../../faults/redis-scene.js';
import { CommandLine } from '../../support/command-line.js';
import { until } from '../../support/until.js';

interface Change {
  readonly at: string;
  readonly event: string;
  readonly key?: string;
  readonly lock?: {
    readonly waiting: number;
    readonly holders: readonly { readonly token: number }[];
  } | null;
}

describe('O25: nestjs-distributed-lock watch', () => {
  const scene = new RedisScene();

  const watch = (...args: string[]): CommandLine =>
    scene.until(
      CommandLine.start(['watch', ...args, '--interval', '100ms'], { env: { LOCK_REDIS_URL: scene.url } }),
    );
  const changesIn = ({ stdout }: CommandLine): Change[] =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Change);

  it('reports changes of a lock, one document per line', async () => {
    const app = await scene.app();
    const other = await scene.app();
    const key = scene.key();
    const watching = watch(key, '--json');
    await watching.wrote(/"event":"free"/);
    const first = await app.locks.acquire(key);
    await watching.wrote(/"event":"held"/);
    const waiting = other.locks.acquire(key, { waitTime: 60_000 });
    await watching.wrote(/"event":"waiting"/);
    await first.release();
    const next = await waiting;
    await watching.wrote(/"event":"passed"/);
    await next.release();
    await until(
      'it is free again',
      () => changesIn(watching).filter(({ event }) => event === 'free').length === 2,
    );
    const events = changesIn(watching);
    expect(events.map(({ event }) => event)).toEqual(['free', 'held', 'waiting', 'passed', 'free']);
    expect(events.every((event) => event.key === key && !Number.isNaN(Date.parse(event.at)))).toBe(true);
    expect(events[1]?.lock?.holders).toMatchObject([{ token: first.token }]);
    expect(events[2]?.lock).toMatchObject({ waiting: 1 });
    expect(events[3]?.lock?.holders).toMatchObject([{ token: next.token }]);
    expect(events[4]?.lock).toBeNull();
    await watching.kill('SIGINT');
    expect(await watching.ended()).toMatchObject({ signal: 'SIGINT', stderr: '' });
  });

  it('reports all locks whose keys match', async () => {
    const app = await scene.app();
    const hostile = 'job:\u001b[2J\n';
    const watching = watch('--match', 'job:*');
    await app.locks.acquire('other');
    const held = await app.locks.acquire(hostile, { label: 'import' });
    await watching.wrote(/held by/);
    await held.release();
    await watching.wrote(/free/);
    const lines = watching.stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    const time = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;
    expect(lines[0]).toMatch(
      new RegExp(
        String.raw`^${time}  job:\\u001b\[2J\\u000a  held by \S+ pid ${process.pid} \("import"\), token ${held.token}, for .*, 0 waiting$`,
      ),
    );
    expect(lines[1]).toMatch(new RegExp(String.raw`^${time}  job:\\u001b\[2J\\u000a  free$`));
  });

  it('continues while Redis is unreachable, and reports that once', async () => {
    const proxy = await scene.proxy();
    const watching = watch('k', '--json', '--redis', proxy.url);
    await watching.wrote(/"event":"free"/);
    await proxy.refuse();
    proxy.cut();
    await watching.wrote(/"event":"unavailable"/);
    await proxy.accept();
    await watching.wrote(/"event":"available"/);
    expect(changesIn(watching).map(({ event }) => event)).toEqual(['free', 'unavailable', 'available']);
  });

  it('exits with 0 when its output is closed', async () => {
    const app = await scene.app();
    const key = scene.key();
    const watching = watch(key);
    await watching.wrote(/free/);
    watching.child.stdout!.destroy();
    await app.locks.acquire(key);
    expect(await watching.exited()).toMatchObject({ code: 0, signal: null, stderr: '' });
  });
});
