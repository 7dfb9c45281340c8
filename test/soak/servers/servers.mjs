import { EtcdUnderTest } from './etcd.mjs';
import { PostgresUnderTest } from './postgres.mjs';
import { RedisUnderTest } from './redis.mjs';
import { ZooKeeperUnderTest } from './zookeeper.mjs';

/**
 * The servers on which a run can keep its locks, by the name that `--store` takes. Each has:
 *
 * - `start({ faults })`: with whether anything will be done to it; `close()`;
 * - `port`: where proxies lead to, which may change; `urlAt(port)` for whoever goes through one, `url`;
 * - `fence()`: the largest token given out so far, 0 before the first;
 * - `isWritable()`: resolves when a fault that makes writes wait is over;
 * - `pushes`: what it calls that which it tells without being asked, and which a fault drops;
 * - `faults({ random, note, record })`: what is done to it, as `[weight, name, act]`. `act(name)` calls `note(name, more)`
 *   when it does it, and resolves when the next fault may come. Whoever loses data says so: see `doomed` in redis.mjs;
 * - `census()`: what it keeps and has written, as `{ entries, writes, bytes }`; `bytes` is undefined where it is not known;
 * - `leftovers()`: what is there after a run, as `{ name, ttl }`; `isTransient(one)`: whether it has to go away.
 */
const SERVERS = {
  redis: RedisUnderTest,
  postgres: PostgresUnderTest,
  etcd: EtcdUnderTest,
  zookeeper: ZooKeeperUnderTest,
};

export const storeNames = () => Object.keys(SERVERS);

/**
 * @param {string} store
 * @param {{ program: unknown, directory: string, build: { entry: string } }} means `program`: what was set up for it
 */
export function serverOf(store, { program, directory, build }) {
  return new SERVERS[store](program, directory, build);
}
