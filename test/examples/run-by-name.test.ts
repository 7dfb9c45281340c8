import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { exampleNames } from '../../.scripts/applications/examples.mjs';
import { guardAgainstOrphans } from '../support/orphan-guard.js';
import { Example } from '../support/example.js';
import { freePort } from '../support/free-port.js';
import { until, within } from '../support/until.js';

const script = join(import.meta.dirname, '../../.scripts/example.mjs');

describe('npm run example', () => {
  const example = new Example('busy-409', { processes: 0 });

  const start = (args: readonly string[], env: Record<string, string>) => {
    const child = spawn(process.execPath, [script, ...args], { env: { ...process.env, ...env } });
    guardAgainstOrphans(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const ended = once(child, 'close').then(([code]) => code as number);
    return { child, output: () => output, ended: () => within(60_000, 'the end', ended) };
  };

  it('runs an example in several processes until it is interrupted, and then ends all of them', async () => {
    const first = await freePort();
    const run = start(['busy-409', '2'], { PORT: String(first), REDIS_URL: example.redis.url });
    const ready = [`[1] busy-409 is ready`, `[2] busy-409 is ready`];
    await until('both are ready', () => ready.every((line) => run.output().includes(line)), {
      deadline: 60_000,
    });
    const book = () => fetch(`http://localhost:${first}/seats/1/bookings`, { method: 'POST' });
    expect((await book()).status).toBe(201);
    run.child.kill('SIGINT');
    expect(await run.ended()).toBe(130);
    await expect(book()).rejects.toThrow('fetch failed');
  });

  it.each([[[]], [['busy']], [['busy-409', 'many']]])('refuses %j, and says what it takes', async (args) => {
    const run = start(args, {});
    expect(await run.ended()).toBe(1);
    expect(run.output()).toMatch(/^(npm run example NAME|The number of processes)/);
    if (args.length < 2) expect(run.output()).toContain(exampleNames().join(', '));
  });
});
