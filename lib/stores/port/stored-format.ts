import { LockStoreError } from './lock-store.js';

/**
 * The format of the stored locks. Versions with the same format may use the same locks during a deployment; changes
 * that older versions can read keep the number.
 */
const FORMAT = '1';

/** The store contains locks in a format that this version does not know. It must neither read nor write there. */
export class UnknownFormatError extends LockStoreError {}

/**
 * A version with another format marks the store with the number of the format and its own version, such as `2 3.0.0`.
 * Format 1 has no mark, so nothing is written for it.
 *
 * @param mark the value found where the mark would be; undefined or null if there is none
 * @param place for display, such as `Redis at host:6379`
 * @param separation the option that separates these locks from others
 * @throws UnknownFormatError
 */
export function checkFormat(mark: string | null | undefined, place: string, separation: string): void {
  if (mark === undefined || mark === null) return;
  const [format = '', version = 'unknown'] = mark.slice(0, 100).split(' ');
  if (format === FORMAT) return;
  throw new UnknownFormatError(
    `${place} keeps locks in format ${JSON.stringify(format)}, written by version ${version} of nestjs-distributed-lock; this ` +
      `version knows only format ${FORMAT}. Upgrade this process, or separate its locks by ${separation}`,
    { inDoubt: false, retryable: false },
  );
}
