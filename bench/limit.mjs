/**
 * `node bench/limit.mjs`: how fast a free lock can be on this machine, with the bare client. The floor of M1 is one SET and one
 * script, both awaited. A lock with a fencing token and a queue needs two scripts: here with the commands that they can't do
 * without. `withLock` awaits the first one, `release()` both. Writes nothing.
 */
import { ensureRedisServer } from '../.scripts/setup.mjs';
import { connectIoredis } from './candidates/ioredis-client.mjs';
import { startPrivateRedis } from './harness/private-redis.mjs';
import { spreadOf } from './harness/statistics.mjs';

const ROUNDS = 9;
const ROUND_MS = 600;
const KEYS = 1_000;

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
let holds = 0;
const key = () => `key:${holds++ % KEYS}`;
const acquireBy = (name) => client.evalsha(acquire, 3, name, `${name}:queue`, 'fence', 'owner:1', 30_000);
const releaseBy = (name) => client.evalsha(release, 2, name, `${name}:queue`, 'owner:1');

const ways = {
  'floor: SET and a script, both awaited': async (name) => {
    await client.set(name, 'owner', 'PX', 30_000, 'NX');
    await client.evalsha(compareAndDelete, 1, name, 'owner');
  },
  'two scripts, the first awaited': async (name) => {
    await acquireBy(name);
    void releaseBy(name);
  },
  'two scripts, both awaited': async (name) => {
    await acquireBy(name);
    await releaseBy(name);
  },
};

/** Holds per second, and processor time of this process per hold, µs. */
async function round(hold) {
  const used = process.cpuUsage();
  const startedAt = performance.now();
  let count = 0;
  for (; performance.now() - startedAt < ROUND_MS; count++) await hold(key());
  const { user, system } = process.cpuUsage(used);
  return { rate: (count * 1_000) / (performance.now() - startedAt), cpu: (user + system) / count };
}

const samples = Object.fromEntries(Object.keys(ways).map((name) => [name, []]));
for (let turn = 0; turn <= ROUNDS; turn++) {
  for (const [name, hold] of Object.entries(ways)) {
    const sample = await round(hold);
    // The first turn warms up.
    if (turn > 0) samples[name].push(sample);
  }
}
const median = (name, figure) => spreadOf(samples[name].map((sample) => sample[figure])).median;
const [floor] = Object.keys(ways);
for (const name of Object.keys(ways)) {
  const ratios = ['rate', 'cpu'].map((figure) => (median(name, figure) / median(floor, figure)).toFixed(2));
  console.log(
    `${name.padEnd(38)} ${median(name, 'rate').toFixed(0).padStart(6)} holds/s, ${ratios[0]} × the floor; ` +
      `${median(name, 'cpu').toFixed(1)} µs of processor time, ${ratios[1]} ×`,
  );
}
client.disconnect();
redis.stop();
