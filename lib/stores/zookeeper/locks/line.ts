import { countHolders, isOfSemaphore, limitsAgree, roomBehind } from '../../port/limits.js';
import { decoded, encoded } from './lock-paths.js';

/** Who holds a lock or waits for it, as the name of its node tells. */
export interface Place {
  readonly name: string;
  readonly owner: string;
  readonly limit: number;
  readonly sequence: number;
}

/** How many waiters of a semaphore hear of each place that goes: if one stands still, the others are served. */
const MOST_IN_FRONT = 4;

/** Of nodes whose names ZooKeeper ends with a number: it grows with each that is created. */
const SEQUENCE_DIGITS = 10;
const NAME = new RegExp(`^(x|r|s(\\d+))-(.+)-(\\d{${String(SEQUENCE_DIGITS)}})$`);

/** The name of a new node, to which ZooKeeper adds the number. */
export function nameFor(owner: string, limit: number): string {
  return `${kindOf(limit)}-${encoded(owner)}-`;
}

function kindOf(limit: number): string {
  if (limit === 1) return 'x';
  return limit === Infinity ? 'r' : `s${String(limit)}`;
}

/** Of a node that was created; 0 if it has none. */
export function sequenceIn(path: string): number {
  const digits = path.slice(-SEQUENCE_DIGITS);
  return /^\d+$/.test(digits) ? Number(digits) : 0;
}

/** Undefined for a name that is none of ours. */
function placeOf(name: string): Place | undefined {
  const [, kind, shares, owner, sequence] = NAME.exec(name) ?? [];
  if (owner === undefined) return undefined;
  const limit = kind === 'x' ? 1 : kind === 'r' ? Infinity : Number(shares);
  return { name, owner: decoded(owner), limit, sequence: Number(sequence) };
}

/**
 * All who hold a lock or wait for it, in order. Who holds it follows from that: the first, and those behind it for as long
 * as each fits beside all before. So whoever holds it does so until its node goes, since nobody comes in before it.
 */
export class Line {
  readonly places: readonly Place[];
  /** How many of the places hold the lock. */
  readonly held: number;

  /**
   * @param names those of the nodes
   * @param changedAt the transaction that last added one or took one away
   */
  constructor(
    names: readonly string[],
    readonly changedAt: number,
  ) {
    this.places = names
      .flatMap((name) => placeOf(name) ?? [])
      .sort((one, other) => one.sequence - other.sequence);
    this.held = countHolders(this.places);
  }

  get holders(): readonly Place[] {
    return this.places.slice(0, this.held);
  }

  get waiters(): readonly Place[] {
    return this.places.slice(this.held);
  }

  /** Where a node stands; -1 if it is not there. */
  indexOf(name: string): number {
    return this.places.findIndex((place) => place.name === name);
  }

  /** Whether a new one with that limit would hold the lock at once. */
  hasRoom(limit: number): boolean {
    return roomBehind(this.places, limit, this.held) > 0;
  }

  /** The limit of those who hold the lock, if one with this limit does not go with them. */
  conflictWith(limit: number): number | undefined {
    const [first] = this.places;
    return first === undefined || limitsAgree(first.limit, limit) ? undefined : first.limit;
  }

  /**
   * The place that the waiter at that index watches, unless it is among the first: it can't hold the lock before that one is
   * gone or, in a semaphore, holds it.
   */
  before(index: number): Place | undefined {
    if (this.places[index]?.limit !== Infinity) return this.places[index - 1];
    return this.places
      .slice(0, index)
      .reverse()
      .find(({ limit }) => limit !== Infinity);
  }

  /** Whether the waiter at that index is among the first, who look at all holders and, in a semaphore, watch all places. */
  isFront(index: number): boolean {
    const { limit = 1 } = this.places[index] ?? {};
    return index < this.held + (isOfSemaphore(limit) ? Math.min(limit, MOST_IN_FRONT) : 1);
  }

  /** Whether others than that client wait. */
  othersWait(client: string): boolean {
    return this.waiters.some(({ owner }) => !owner.startsWith(`${client}:`));
  }
}
