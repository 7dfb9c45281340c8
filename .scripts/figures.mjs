/**
 * `npm run figures`: what a lock costs on a Redis server of this machine. Counts are the server's own; times are medians
 * and say something about this machine only. Starts a private Redis, and one more process for the hand-over.
 */
import { fork, spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.mjs';
import { ensureBuild, ensureDependencies, ensureRedisServer } from './setup.mjs';

const ROUNDS = 2_000;
const HAND_OVERS = 200;

async function openLocks(url) {
  await import('reflect-metadata');
  const { NestFactory } = await import('@nestjs/core');
  const { DistributedLockModule, LockService } = await import('../dist/esm/index.js');
  const app = await NestFactory.createApplicationContext(DistributedLockModule.forRoot({ redis: url }), {
    logger: ['error'],
  });
  return { app, locks: app.get(LockService) };
}

/** The other process: whenever it is told to, waits for the lock, tells when it got it, and gives it back. */
async function takeTurns(url, key) {
  const { app, locks } = await openLocks(url);
  locks.events.subscribe(({ type }) => {
    if (type === 'queued' || type === 'renewed') process.send(type);
  });
  let lock;
  process.on('message', async (order) => {
    if (order === 'acquire') {
      lock = await locks.acquire(key);
      process.send('running');
    } else {
      await lock.release();
      process.send('released');
    }
  });
  process.send('ready');
  await once(process, 'disconnect');
  await app.close();
}

function median(values) {
  return values.sort((a, b) => a - b)[values.length >> 1];
}

async function startRedis(path, folder) {
  const port = await freePort();
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
    const said = async (word) => {
      for await (const [message] of on(other, 'message')) if (message === word) return;
    };
    await said('ready');
    const commands = [];
    const handOvers = [];
    for (let i = 0; i < HAND_OVERS; i++) {
      const lock = await locks.acquire('shared');
      const queued = said('queued');
      other.send('acquire');
      await queued;
      await client.config('RESETSTAT');
      const [running, claimed] = [said('running'), said('renewed')];
      const started = performance.now();
      const released = lock.release();
      await running;
      handOvers.push(performance.now() - started);
      await Promise.all([released, claimed]);
      commands.push(await commandCounts(client));
      const back = said('released');
      other.send('release');
      await back;
    }
    const of = (name) => median(commands.map((counts) => counts[name] ?? 0));
    console.log(
      `hand-over between two processes: ${of('evalsha')} scripts (release, claim) and ${of('publish')} publish, ` +
        `${median(handOvers).toFixed(3)} ms from release() to the message that the other one runs`,
    );
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
