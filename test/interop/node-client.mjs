/**
 * Uses locks of `redissonStore` as a test tells it: node-client.mjs WATCHDOG_MS ADDRESS... The lines are those of LockClient.java,
 * which does the same in Java. Threads are names of holds here.
 */
import 'reflect-metadata';
import { createInterface } from 'node:readline';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { DistributedLockModule, LockAdmin, LockService } from '../../dist/esm/index.js';
import { redissonStore } from '../../dist/esm/redisson.js';

/** The scripts of LockClient.java. */
const ENTER =
  "if tonumber(redis.call('hget', KEYS[1], 'token') or 0) >= tonumber(ARGV[1]) then return -1 end " +
  "redis.call('hset', KEYS[1], 'token', ARGV[1]) " +
  "return tonumber(redis.call('hget', KEYS[1], 'value') or 0)";
const LEAVE =
  "if redis.call('hget', KEYS[1], 'token') ~= ARGV[1] then return 0 end " +
  "redis.call('hset', KEYS[1], 'value', ARGV[2]) return 1";

const [watchdogTimeout, ...addresses] = process.argv.slice(2);
const redis = addresses.length === 1 ? addresses[0] : { nodes: addresses };
const options = {
  store: redissonStore({ redis }),
  watchdogTimeout: Number(watchdogTimeout),
  waitTime: 60_000,
};

class AppModule {}
Module({ imports: [DistributedLockModule.forRoot(options)] })(AppModule);

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const [locks, admin] = [app.get(LockService), app.get(LockAdmin)];
const guarded = new Redis(addresses[0]);
const holds = new Map();

const now = () => Math.round((performance.timeOrigin + performance.now()) * 1_000);

async function run(thread, command, name, ...args) {
  switch (command) {
    case 'lock':
      holds.set(thread, await locks.acquire(name));
      return now();
    case 'unlock': {
      const before = now();
      await holds.get(thread)?.release();
      return before;
    }
    case 'forceUnlock':
      return await admin.forceRelease(name);
    case 'contend':
      return await contend(name, args[0], Number(args[1]), Number(args[2]));
    default:
      throw new Error(`unknown command ${command}`);
  }
}

/** Several callers use the lock for some time: HOLDS WRITTEN REFUSED LONGEST_WAIT_MS. */
async function contend(name, key, callers, ms) {
  const counts = { holds: 0, written: 0, refused: 0, longest: 0 };
  const end = performance.now() + ms;
  const caller = async () => {
    while (performance.now() < end) {
      const asked = performance.now();
      const lock = await locks.acquire(name);
      counts.longest = Math.max(counts.longest, performance.now() - asked);
      counts.holds += 1;
      if (await increment(key, lock.token)) counts.written += 1;
      else counts.refused += 1;
      await lock.release();
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const { holds: held, written, refused, longest } = counts;
  return [held, written, refused, Math.round(longest)].join(' ');
}

async function increment(key, token) {
  const value = Number(await guarded.eval(ENTER, 1, key, token));
  if (value < 0) return false;
  for (const until = performance.now() + 1; performance.now() < until;);
  return (await guarded.eval(LEAVE, 1, key, token, value + 1)) === 1;
}

console.log('ready');
for await (const line of createInterface(process.stdin)) {
  const [request, ...words] = line.split(' ');
  run(...words).then(
    (result) => console.log(`${request} ok ${result}`),
    (error) => console.log(`${request} error ${error.message}`),
  );
}
process.exit(0);
