/** Of what kind a lock is that is asked for or held. */
export interface LockKind {
  /** By the caller's word (option `name`): one of at most 200 in a process, `other` after that. */
  readonly name: string;
  /** `'exclusive'` for a `limit` of 1. */
  readonly mode: 'exclusive' | 'shared';
  /** How many may hold the lock at once; `Infinity` for readers. */
  readonly limit: number;
  /** What the lock is taken for, by the caller's word. */
  readonly label: string | undefined;
}
