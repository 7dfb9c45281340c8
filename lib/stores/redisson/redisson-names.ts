import { LockStoreError } from '../port/lock-store.js';
import { KeyNames, keySlot, patternOf, type ListedNames } from '../redis/scripts/key-names.js';

/** The names that Redisson uses for one lock, and that of this library's tombstones beside them. */
export interface RedissonNames {
  /** A hash: the lock itself. */
  readonly lock: string;
  /** Where unlock messages are published. */
  readonly channel: string;
  /** The counter of `RFencedLock`. */
  readonly counter: string;
  readonly gone: string;
  /** The waiters of `RFairLock`. */
  readonly queue: string;
  /** The time when each of them gives up. */
  readonly timeouts: string;
}

/** Names as Redisson forms them: a key is the name of the lock in Java. */
export class RedissonKeyNames implements ListedNames {
  /** What this library keeps besides locks. */
  readonly own: KeyNames;

  /** @param isSpread whether the names are spread over the slots of a cluster */
  constructor(
    readonly prefix: string,
    private readonly isSpread: boolean,
  ) {
    this.own = new KeyNames(`nestjs_lock:${prefix}`, isSpread);
  }

  get board(): string {
    return this.own.board;
  }

  of(key: string): RedissonNames {
    const lock = this.prefix + key;
    const tagged = lock.includes('{') ? lock : `{${lock}}`;
    return {
      lock,
      channel: `redisson_lock__channel:${tagged}`,
      counter: `redisson_lock_token:${tagged}`,
      gone: `nestjs_lock:@:gone:${tagged}`,
      queue: `redisson_lock_queue:${tagged}`,
      timeouts: `redisson_lock_timeout:${tagged}`,
    };
  }

  /** @throws LockStoreError if the names of the lock are not in one hash slot */
  check(key: string): void {
    if (!this.isSpread || !/[{}]/.test(key)) return;
    const { lock, channel } = this.of(key);
    if (keySlot(lock) !== keySlot(channel)) throw inTwoSlots(key);
  }

  keyOf(name: string): string | undefined {
    return name.startsWith(this.prefix) && name !== this.prefix ? name.slice(this.prefix.length) : undefined;
  }

  patternOf(start: string): string {
    return patternOf(this.prefix + start);
  }

  slotOf(key: string): number {
    return this.isSpread ? keySlot(this.prefix + key) : 0;
  }
}

function inTwoSlots(key: string): LockStoreError {
  return new LockStoreError(
    `Redisson can't keep the lock ${JSON.stringify(key)} in a Redis Cluster, as its names are in several hash slots`,
    {
      inDoubt: false,
      retryable: false,
      remedy: 'Leave braces out of the key, or use one pair, as in "order:{42}".',
    },
  );
}
