/**
 * `npm run figures`: what a lock costs on a Redis server of this machine. Counts are the server's own; times are medians
 * and say something about this machine only. Starts a private Redis, and one more process for the hand-over.
 */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureBuild, ensureDependencies, ensureRedisServer } from './setup.mjs';

const ROUNDS = 2_000;

async function openLocks(url) {
  await import('reflect-metadata');
  const { NestFactory } = await import('@nestjs/core');
  const { DistributedLockModule, LockService } = await import('../dist/esm/index.js');
  const app = await NestFactory.createApplicationContext(DistributedLockModule.forRoot({ redis: url }), {
    logger: ['error'],
  });
  return { app, locks: app.get(LockService) };
}

/** The other process: takes and gives back the same lock, over and over, until it is told to end. */
async function takeTurns(url, key) {
  const { app, locks } = await openLocks(url);
  let going = true;
  process.once('disconnect', () => (going = false));
  process.send('ready');
  while (going) await locks.withLock(key, () => undefined);
  await app.close();
}

function median(values) {
  return values.sort((a, b) => a - b)[values.length >> 1];
}

async function startRedis(path, folder) {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  const server = spawn(path, ['--bind', '127.0.0.1', '--port', `${port}`, '--dir', folder, '--save', '']);
  for await (const text of server.stdout) if (`${text}`.includes('Ready to accept')) break;
  server.stdout.resume();
  return { server, url: `redis://127.0.0.1:${port}` };
}

async function commandCounts(client) {
  const lines = (await client.info('commandstats')).matchAll(/^cmdstat_([^:|]+)[^:]*:calls=(\d+)/gm);
  const counts = {};
  for (const [, name, calls] of lines) counts[name] = (counts[name] ?? 0) + Number(calls);
  return counts;
}

async function measure(url) {
  const { Redis } = await import('ioredis');
  const client = new Redis(url);
  const { app, locks } = await openLocks(url);
  try {
    for (let i = 0; i < ROUNDS; i++) await locks.withLock(`warm-${i}`, () => undefined);

    await client.config('RESETSTAT');
    const times = [];
    for (let i = 0; i < ROUNDS; i++) {
      const started = performance.now();
      await locks.withLock(`free-${i}`, () => undefined);
      times.push(performance.now() - started);
    }
    const free = await commandCounts(client);
    console.log(
      `free lock: ${free.evalsha / ROUNDS} round trips to take and give back, ${median(times).toFixed(3)} ms`,
    );
    const ping = [];
    for (let i = 0; i < ROUNDS; i++) {
      const started = performance.now();
      await client.ping();
      ping.push(performance.now() - started);
    }
    console.log(`  one PING on the same machine: ${median(ping).toFixed(3)} ms`);

    const other = fork(fileURLToPath(import.meta.url), ['turns', url, 'shared']);
    await once(other, 'message');
    for (let i = 0; i < 200; i++) await locks.withLock('shared', () => undefined);
    await client.config('RESETSTAT');
    const started = performance.now();
    for (let i = 0; i < ROUNDS; i++) await locks.withLock('shared', () => undefined);
    const each = (performance.now() - started) / (2 * ROUNDS);
    const contended = await commandCounts(client);
    const commands = ['evalsha', 'publish'].map(
      (name) => `${((contended[name] ?? 0) / (2 * ROUNDS)).toFixed(2)} ${name}`,
    );
    console.log(`hand-over between two processes: ${commands.join(', ')} each, ${each.toFixed(3)} ms`);
    other.disconnect();
    await once(other, 'exit');
  } finally {
    await app.close();
    client.disconnect();
  }
}

const [mode, url, key] = process.argv.slice(2);
if (mode === 'turns') {
  await takeTurns(url, key);
} else {
  await ensureDependencies();
  const redis = await ensureRedisServer();
  await ensureBuild();
  const folder = await mkdtemp(join(tmpdir(), 'lock-figures-'));
  const { server, url: address } = await startRedis(redis.path, folder);
  try {
    await measure(address);
  } finally {
    server.kill();
    await rm(folder, { recursive: true, force: true });
  }
}
