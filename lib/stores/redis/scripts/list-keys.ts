import { Glob } from '../../../common/glob.js';
import type { ListedKeys, ListKeysRequest } from '../../port/lock-store.js';
import { checkCursor } from '../../port/store-failure.js';
import type { ServerConnection } from '../connection/server-connection.js';
import type { KeyNames } from './key-names.js';

/** The largest cursor of SCAN: an unsigned number of 64 bits. */
const LARGEST_CURSOR = 2n ** 64n - 1n;

/** Whether SCAN may have answered that there is more, behind that cursor. */
export function isScanCursor(cursor: string): boolean {
  return /^[1-9]\d{0,19}$/.test(cursor) && BigInt(cursor) <= LARGEST_CURSOR;
}

/** Keys that are held at a server, by SCAN, which looks at other things of the database, too. */
export async function listKeys(
  link: ServerConnection,
  names: KeyNames,
  { match, cursor, count }: ListKeysRequest,
): Promise<ListedKeys> {
  checkCursor(cursor === undefined || isScanCursor(cursor));
  const glob = new Glob(match);
  const pattern = names.patternOf(glob.head);
  const [next, found] = await link.doForPeople('scan', 'held locks can not be listed', (redis) =>
    redis.scan(cursor ?? '0', 'MATCH', pattern, 'COUNT', count, 'TYPE', 'hash'),
  );
  const keys = found
    .map((name) => names.keyOf(name))
    .filter((key) => key !== undefined)
    .filter((key) => glob.matches(key));
  return { keys, cursor: next === '0' ? undefined : next };
}
