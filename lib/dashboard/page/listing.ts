import type { ShownList } from '../wire.js';
import { addressId } from './held-row.js';
import type { ListedLock } from './listed-rows.js';

interface Listing {
  readonly locks: ReadonlyMap<string, ListedLock>;
  /** Which module instances could not be listed, and why. */
  readonly failures: readonly string[];
}

type ReadPart = (instance: string | null, cursor: string | null) => Promise<ShownList>;

/**
 * Lists what the stores of module instances have, bit by bit. One that can't be listed keeps none of the others from it:
 * the process that serves the page need not have all instances that others tell of.
 *
 * @param soFar is told of how many there are by now
 */
export async function listAll(
  instances: readonly (string | null)[],
  read: ReadPart,
  soFar: (locks: number) => void,
): Promise<Listing> {
  const locks = new Map<string, ListedLock>();
  const failures: string[] = [];
  for (const instance of instances) {
    try {
      let cursor: string | null = null;
      do {
        const part: ShownList = await read(instance, cursor);
        for (const lock of part.locks) locks.set(addressId(lock), { ...lock, at: part.at });
        cursor = part.cursor;
        soFar(locks.size);
      } while (cursor !== null);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      failures.push(instance === null ? why : `Of the module instance ${instance}: ${why}`);
    }
  }
  return { locks, failures };
}
