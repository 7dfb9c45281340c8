import { describe, expect, it } from '@jest/globals';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import { guardAgainstOrphans } from '../support/orphan-guard.js';
import { endProcess } from '../support/server-process.js';
import { stopwatch } from '../support/stopwatch.js';
import { within } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

interface Answer {
  readonly status: number;
  readonly body: { readonly before?: boolean; readonly after?: boolean; readonly code?: string };
}

describe.each([0, 40])('shutdown under load, %d ms away', (delay) => {
  const scene = new RedisScene({ delay });

  it('F23, B60: SIGTERM interrupts no request that holds a lock, leaves no lock, and exits in time', async () => {
    const shutdownTimeout = 5_000;
    const { child, port } = await startHttp({ url: scene.url, shutdownTimeout, work: 300 });
    const inside = waitForInside(child, 8);
    // Four requests of each kind hold a lock of their own; four more wait for each of these.
    const keys = [0, 1, 2, 3].flatMap((name) => [`decorated/${name}`, `by-hand/${name}`]);
    const holders = keys.map((path) => request(port, path));
    await within(10_000, 'all holders', inside);
    const waiters = keys.flatMap((path) =>
      [1, 2, 3, 4].map(() => request(port, path).catch(() => undefined)),
    );
    const exited = once(child, 'exit');
    const took = stopwatch();
    child.kill('SIGTERM');

    for (const answer of await Promise.all(holders)) {
      expect(answer).toEqual({ status: 200, body: { before: true, after: true } });
    }
    for (const answer of await Promise.all(waiters)) {
      // Served, rejected as closing, or not connected any more; never interrupted in the middle of a response.
      if (answer) expect([200, 503]).toContain(answer.status);
      if (answer?.status === 503) expect(answer.body.code).toBe('LOCK_CLOSED');
    }
    await within(shutdownTimeout, 'the process to exit', exited);
    expect(took()).toBeLessThan(shutdownTimeout);
    expect(await scene.leftovers()).toEqual([]);
  });

  it('F23, B60: unfinished work delays the exit by at most shutdownTimeout', async () => {
    const { child, port } = await startHttp({ url: scene.url, shutdownTimeout: 400, work: 1_500 });
    const inside = waitForInside(child, 1);
    const key = scene.key();
    const answer = request(port, `decorated/${key}`).catch(() => undefined);
    await within(10_000, 'the holder', inside);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    // Nest itself waits for open requests; their locks must not be freed meanwhile.
    expect(await scene.client.exists(`lock:${key}`)).toBe(1);
    await answer;
    await within(5_000, 'the process to exit', exited);
  });

  async function startHttp(settings: {
    url: string;
    shutdownTimeout: number;
    work: number;
  }): Promise<{ child: ChildProcess; port: number }> {
    const script = fileURLToPath(new URL('../support/http-worker.mjs', import.meta.url));
    const child = fork(script, [JSON.stringify(settings)], {
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    guardAgainstOrphans(child);
    scene.until({ kill: () => endProcess(child) });
    const [message] = (await within(20_000, 'the HTTP application', once(child, 'message'))) as [
      { port: number },
    ];
    return { child, port: message.port };
  }
});

function waitForInside(child: ChildProcess, count: number): Promise<void> {
  return new Promise((resolve) => {
    let seen = 0;
    child.on('message', (message: { inside?: true }) => {
      if (message.inside) seen += 1;
      if (seen === count) resolve();
    });
  });
}

async function request(port: number, path: string): Promise<Answer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: `/${path}`, agent: false }, resolve).on('error', reject);
  });
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return {
    status: response.statusCode ?? 0,
    body: JSON.parse(Buffer.concat(chunks).toString()) as Answer['body'],
  };
}
