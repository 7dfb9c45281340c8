import { Glob } from '../../common/glob.js';
import { LockStoreError, type ListedKeys, type ListKeysRequest, type LockBoard } from '../port/lock-store.js';
import { checkCursor } from '../port/store-failure.js';
import type { Redis } from 'ioredis';
import { plainCommand } from './connection/ioredis.js';
import type { ServerConnection } from './connection/server-connection.js';
import type { OperationsCommand } from './doctor/acl-rules.js';
import type { ListedNames } from './scripts/key-names.js';

/** The names must outlive the texts, ms. */
const NAMES_TTL = 600_000;

/** The largest cursor of SCAN: an unsigned number of 64 bits. */
const LARGEST_CURSOR = 2n ** 64n - 1n;

/** Whether SCAN may return this cursor, other than for the end. */
export function isScanCursor(cursor: string): boolean {
  return /^[1-9]\d{0,19}$/.test(cursor) && BigInt(cursor) <= LARGEST_CURSOR;
}

/** Lists the keys held at a server, by SCAN, which also visits everything else in the database. */
export async function listKeys(
  link: ServerConnection,
  names: ListedNames,
  { match, cursor, count }: ListKeysRequest,
): Promise<ListedKeys> {
  checkCursor(cursor === undefined || isScanCursor(cursor));
  const glob = new Glob(match);
  const pattern = names.patternOf(glob.head);
  const [next, found] = await withExtraRight(link, 'scan', "held locks can't be listed", (redis) =>
    plainCommand<[string, string[]]>(
      redis,
      'SCAN',
      cursor ?? '0',
      'MATCH',
      pattern,
      'COUNT',
      count,
      'TYPE',
      'hash',
    ),
  );
  const keys = found.map((name) => names.keyOf(name)).filter((key) => key !== undefined);
  return { keys: keys.filter((key) => glob.matches(key)), cursor: next === '0' ? undefined : next };
}

/**
 * The board: a sorted set of names, a string for each, and a string that marks viewers. All of them expire.
 *
 * @param set its name; the other names start with it
 */
export function redisBoard(link: ServerConnection, set: string): LockBoard {
  const watched = `${set}:watched`;
  const textName = (name: string): string => `${set}:of:${name}`;
  return {
    watch: async (ttl) => {
      await link.do((redis) => redis.set(watched, '1', 'PX', ttl));
    },
    isWatched: async () => (await link.do((redis) => plainCommand(redis, 'EXISTS', watched))) === 1,
    publish: async (name, text, ttl) => {
      // The set first: a name without a text does no harm and expires with the set.
      await link.do((redis) =>
        Promise.all([
          redis.zadd(set, 0, name),
          redis.pexpire(set, Math.max(ttl, NAMES_TTL)),
          redis.set(textName(name), text, 'PX', ttl),
        ]),
      );
    },
    read: async () => {
      const names = await link.do((redis) => plainCommand<string[]>(redis, 'ZRANGE', set, 0, -1));
      if (names.length === 0) return [];
      const consequence = 'nothing is shown of other processes';
      const texts = await withExtraRight(link, 'mget', consequence, (redis) =>
        plainCommand<(string | null)[]>(redis, 'MGET', ...names.map(textName)),
      );
      const expired = names.filter((_, index) => texts[index] === null);
      if (expired.length > 0) await link.do((redis) => redis.zrem(set, ...expired));
      return texts.filter((text) => text !== null);
    },
  };
}

/**
 * Sends a command that locks do not need, to which the user may lack the right.
 *
 * @param consequence of lacking it
 */
async function withExtraRight<T>(
  link: ServerConnection,
  name: OperationsCommand,
  consequence: string,
  command: (redis: Redis) => Promise<T>,
): Promise<T> {
  try {
    return await link.do(command);
  } catch (error) {
    const failure = link.failureOf(error);
    if (!failure.message.includes('NOPERM')) throw failure;
    const { address, user } = link.connector;
    throw new LockStoreError(
      `the user "${user}" of Redis at ${address} may not use ${name.toUpperCase()}, so that ${consequence}; locks do not ` +
        `need it. To allow it: ACL SETUSER ${user} +${name}`,
      { inDoubt: false, retryable: false, cause: failure },
    );
  }
}
