import { isKey } from '../../../model/lock-key.js';
import type { OwnerId } from '../../port/lock-store.js';

/** Of the names of what processes leave for people. */
export const BOARD_PREFIX = 'b-';

/** Where everything is kept, below the path that the user gave. */
export class LockPaths {
  readonly locks: string;
  readonly clients: string;
  readonly base: string;

  /** @param root without a slash at its end; empty for the root of ZooKeeper */
  constructor(readonly root: string) {
    this.locks = `${root}/locks`;
    this.clients = `${root}/clients`;
    this.base = `${root}/base`;
  }

  /** Those that stay, in the order in which they are created. */
  get parents(): readonly string[] {
    const names = this.root.split('/').slice(1);
    const above = names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
    return [...above, ...this.needed];
  }

  /** Those in which everything else is created. */
  get needed(): readonly string[] {
    return [this.locks, this.clients];
  }

  ofKey(key: string): string {
    return `${this.locks}/${encoded(key)}`;
  }

  /** Of a lock that is none: no name of a key has a plus sign. */
  ofTrial(id: string): string {
    return `${this.locks}/+${id}`;
  }

  /** By which others tell a client that a hold of its was broken. */
  mailboxOf(client: string): string {
    return `${this.clients}/m-${encoded(client)}`;
  }

  /** What a process leaves for people. */
  boardOf(name: string): string {
    return `${this.clients}/${BOARD_PREFIX}${encoded(name)}`;
  }

  /** Tells that somebody looks at what processes leave. */
  get boardWatched(): string {
    return `${this.clients}/watched`;
  }

  /** What requests of the client's present connection are checked against. */
  fenceOf(client: string, session: string): string {
    return `${this.clients}/f-${encoded(client)}-${session}`;
  }
}

/** As part of a path. Any text stays apart from any other, and none of them has a character that ZooKeeper refuses. */
export function encoded(text: string): string {
  const name = encodeURIComponent(text);
  return name === '.' || name === '..' ? name.replace(/\./g, '%2E') : name;
}

export function decoded(name: string): string {
  return decodeURIComponent(name);
}

/** Whether it is what {@link encoded} makes of a key. */
export function isEncodedKey(name: string): boolean {
  try {
    const key = decoded(name);
    return isKey(key) && encoded(key) === name;
  } catch {
    return false;
  }
}

/** The client of an owner. */
export function clientOf(owner: OwnerId | string): string {
  return owner.slice(0, owner.lastIndexOf(':'));
}
