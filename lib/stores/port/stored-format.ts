import { LockStoreError } from './lock-store.js';

/**
 * The format of what locks keep in a store. Versions with the same format may share locks during a deploy; changes that older
 * versions can read keep the number.
 */
const FORMAT = '1';

/** The store keeps locks of a version whose format this one does not know. Nothing is to be read or written there. */
export class UnknownFormatError extends LockStoreError {}

/**
 * A version with another format marks the store: the number of the format and its own version, such as `2 3.0.0`. Format 1 has
 * no mark, so nothing is written for it.
 *
 * @param mark what was found where the mark would be; undefined or null if there is none
 * @param place for people, such as `Redis at host:6379`
 * @param separation the option that gives locks a place of their own
 * @throws UnknownFormatError
 */
export function checkFormat(mark: string | null | undefined, place: string, separation: string): void {
  if (mark === undefined || mark === null) return;
  const [format = '', version = 'unknown'] = mark.slice(0, 100).split(' ');
  if (format === FORMAT) return;
  throw new UnknownFormatError(
    `${place} keeps locks in format ${JSON.stringify(format)}, written by version ${version} of nestjs-distributed-lock; this ` +
      `version knows format ${FORMAT} only. Upgrade this process, or give its locks a place of their own by ${separation}`,
    { inDoubt: false, retryable: false },
  );
}
