/**
 * `node bench/limit.mjs`: how fast a free lock can be on this machine, with the bare client. The floor of M1 is one SET and one
 * script, both awaited. A lock with a fencing token and a queue needs two scripts: here with the commands that they can't do
 * without. `withLock` awaits the first one, `release()` both; below them this library in the same rounds. Writes nothing.
 */
import { ensureRedisServer } from '../.scripts/setup.mjs';
import { connectIoredis } from './candidates/ioredis-client.mjs';
import { openApplication } from './candidates/ours.mjs';
import { holdCosts } from './harness/hold-costs.mjs';
import { startPrivateRedis } from './harness/private-redis.mjs';

const KEYS = 1_000;

const FIRST_AWAITED = 'two scripts, the first awaited';
const BOTH_AWAITED = 'two scripts, both awaited';
const WITH_LOCK = 'this library, withLock';
const AWAITED = 'this library, release() awaited';

const COMPARE_AND_DELETE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;
const ACQUIRE = `
  if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then return 0 end
  local time = redis.call('TIME')
  local token = string.format('%.0f', time[1] * 1000000 + time[2])
  redis.call('SET', KEYS[3], token, 'GET')
  redis.call('HSET', KEYS[1], ARGV[1], 1, 'token', token)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return token`;
const RELEASE = `
  if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
  redis.call('DEL', KEYS[1])
  return redis.call('EXISTS', KEYS[2])`;

const redis = await startPrivateRedis(ensureRedisServer().path);
const client = await connectIoredis(redis.url);
const load = (script) => client.script('LOAD', script);
const [compareAndDelete, acquire, release] = await Promise.all(
  [COMPARE_AND_DELETE, ACQUIRE, RELEASE].map(load),
);
const { app, locks } = await openApplication({ redis: redis.url });
let holds = 0;
const key = () => `key:${holds++ % KEYS}`;
const acquireBy = (name) => client.evalsha(acquire, 3, name, `${name}:queue`, 'fence', 'owner:1', 30_000);
const releaseBy = (name) => client.evalsha(release, 2, name, `${name}:queue`, 'owner:1');

const ways = {
  'floor: SET and a script, both awaited': async () => {
    const name = key();
    await client.set(name, 'owner', 'PX', 30_000, 'NX');
    await client.evalsha(compareAndDelete, 1, name, 'owner');
  },
  [FIRST_AWAITED]: async () => {
    const name = key();
    await acquireBy(name);
    void releaseBy(name);
  },
  [BOTH_AWAITED]: async () => {
    const name = key();
    await acquireBy(name);
    await releaseBy(name);
  },
  [WITH_LOCK]: () => locks.withLock(key(), () => undefined),
  [AWAITED]: async () => {
    const handle = await locks.acquire(key());
    await handle.release();
  },
};

const costs = await holdCosts(ways, { rounds: 9, roundMs: 600 });
const [floor] = Object.values(costs);
for (const [name, { took, cpu }] of Object.entries(costs)) {
  console.log(
    `${name.padEnd(38)} ${(1e6 / took).toFixed(0).padStart(6)} holds/s, ${(floor.took / took).toFixed(2)} × the floor; ` +
      `${cpu.toFixed(1)} µs of processor time, ${(cpu / floor.cpu).toFixed(2)} ×`,
  );
}
const share = (one, of) => (costs[of].took / costs[one].took).toFixed(2);
console.log(
  `${WITH_LOCK}: ${share(WITH_LOCK, FIRST_AWAITED)} of its limit; awaited: ${share(AWAITED, BOTH_AWAITED)}`,
);
await app.close();
client.disconnect();
redis.stop();
