import { EtcdUnderTest } from './etcd.mjs';
import { PostgresUnderTest } from './postgres.mjs';
import {
  RedisAtOneAddress,
  RedisClusterUnderTest,
  RedisQuorumUnderTest,
  RedisWithSentinel,
} from './redis-topologies.mjs';
import { RedisUnderTest } from './redis.mjs';
import { ZooKeeperUnderTest } from './zookeeper.mjs';

/**
 * The servers that can keep the locks of a run, by the name for `--store`. Each has:
 *
 * - `start({ faults })`: `faults` says whether the run has faults; `close()`;
 * - `targets`: the ports behind the proxies, which may change; `urlAt(...ports)` for clients behind proxies, `url`;
 * - `fence(key)`: the largest token issued so far for this key, 0 before the first;
 * - `isWritable()`: resolves when no fault blocks writes;
 * - `pushes`: its term for pushed messages, which a fault drops;
 * - `faults({ random, note, record })`: its faults as `[weight, name, act]`. `act(name)` calls `note(name, more)` when it
 *   starts, and resolves when the next fault may start. A loss of data is recorded: see `doomed` in redis.mjs;
 * - `census()`: its size and writes, as `{ entries, writes, bytes }`; `bytes` is undefined where unknown;
 * - `leftovers()`: what is left after a run, as `{ name, ttl }`; `isTransient(one)`: whether it should disappear.
 */
const SERVERS = {
  redis: RedisUnderTest,
  'one-address': RedisAtOneAddress,
  sentinel: RedisWithSentinel,
  cluster: RedisClusterUnderTest,
  quorum: RedisQuorumUnderTest,
  postgres: PostgresUnderTest,
  etcd: EtcdUnderTest,
  zookeeper: ZooKeeperUnderTest,
};

export const storeNames = () => Object.keys(SERVERS);

/**
 * @param {string} store
 * @param {{ program: unknown, directory: string, build: { entry: string } }} means `program`: the result of its set-up
 */
export function serverOf(store, { program, directory, build }) {
  return new SERVERS[store](program, directory, build);
}
