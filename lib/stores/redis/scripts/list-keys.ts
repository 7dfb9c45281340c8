import { Glob } from '../../../common/glob.js';
import type { ListedKeys, ListKeysRequest } from '../../port/lock-store.js';
import type { ServerConnection } from '../connection/server-connection.js';
import type { KeyNames } from './key-names.js';

/** Keys that are held at a server, by SCAN, which looks at other things of the database, too. */
export async function listKeys(
  link: ServerConnection,
  names: KeyNames,
  { match, cursor = '0', count }: ListKeysRequest,
): Promise<ListedKeys> {
  const glob = new Glob(match);
  const pattern = names.patternOf(glob.head);
  const [next, found] = await link.doForPeople('scan', 'held locks can not be listed', (redis) =>
    redis.scan(cursor, 'MATCH', pattern, 'COUNT', count, 'TYPE', 'hash'),
  );
  const keys = found
    .map((name) => names.keyOf(name))
    .filter((key) => key !== undefined)
    .filter((key) => glob.matches(key));
  return { keys, cursor: next === '0' ? undefined : next };
}
