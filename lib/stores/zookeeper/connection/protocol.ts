import { ZooKeeperError } from './zookeeper-failure.js';

/**
 * The part of ZooKeeper's protocol that locks need: operations and their encoding, which is called jute
 * (zookeeper-jute/src/main/resources/zookeeper.jute in ZooKeeper's repository).
 */

/** One kind of request: what follows its header, and how the reply is read. */
export interface Operation<T> {
  /** Its number in `ZooDefs.OpCode`. */
  readonly type: number;
  /** Whether it is sent even while the process exits. */
  readonly isSentAtExit?: true;
  readonly write: (to: JuteWriter) => unknown;
  readonly read: (from: JuteReader) => T;
}

/** Metadata of a node, with the transactions of its creation (c) and last write (m). */
export interface Stat {
  readonly czxid: number;
  readonly mzxid: number;
  /** Number of writes. */
  readonly version: number;
  /** The session that the node ends with, as {@link JuteReader.id} reads it; zeros if it is persistent. */
  readonly ephemeralOwner: string;
  /** Number of children. */
  readonly children: number;
  /** The transaction that last created or deleted a child. */
  readonly pzxid: number;
}

export interface Acl {
  readonly permissions: number;
  readonly scheme: string;
  readonly id: string;
}

/** Kinds of nodes. The servers delete a container some time after its last child. */
export const NODE = { persistent: 0, ephemeral: 1, ephemeralSequential: 3, container: 4 } as const;
export const EVERYTHING = 31;
const ANY_VERSION = -1;

export interface Created {
  readonly path: string;
  readonly stat: Stat;
}

/** @param mode one of {@link NODE} */
export function create(path: string, data: Uint8Array, acl: Acl, mode: number): Operation<Created> {
  const { permissions, scheme, id } = acl;
  return {
    type: mode === NODE.container ? 19 : 15,
    write: (to) => to.text(path).bytes(data).int(1).int(permissions).text(scheme).text(id).int(mode),
    read: (from) => ({ path: from.text(), stat: readStat(from) }),
  };
}

/** @param version fails unless the node has it; any if omitted */
export function remove(path: string, version = ANY_VERSION): Operation<void> {
  // Deletes release locks, which no other process does for one that exits.
  return { type: 2, isSentAtExit: true, write: (to) => to.text(path).int(version), read: nothing };
}

/** @param version fails unless the node has it; any if omitted */
export function setData(path: string, data: Uint8Array, version = ANY_VERSION): Operation<Stat> {
  return { type: 5, write: (to) => to.text(path).bytes(data).int(version), read: readStat };
}

/**
 * Only in {@link multi}.
 *
 * @param version fails unless the node has it; any if omitted
 */
export function check(path: string, version = ANY_VERSION): Operation<void> {
  return { type: 13, write: (to) => to.text(path).int(version), read: nothing };
}

export function exists(path: string): Operation<Stat> {
  return { type: 3, write: (to) => to.text(path).bool(false), read: readStat };
}

/** @param watch whether to send one event when the data changes or the node is deleted */
export function getData(path: string, watch: boolean): Operation<{ data: Buffer; stat: Stat }> {
  return {
    type: 4,
    write: (to) => to.text(path).bool(watch),
    read: (from) => ({ data: from.bytes(), stat: readStat(from) }),
  };
}

/** @param watch whether to send one event when a child is created or deleted, or the node is deleted */
export function getChildren(path: string, watch: boolean): Operation<{ names: string[]; stat: Stat }> {
  return {
    type: 12,
    write: (to) => to.text(path).bool(watch),
    read: (from) => ({ names: from.list(() => from.text()), stat: readStat(from) }),
  };
}

/** Later reads on this connection see everything that was committed before. */
export function sync(path: string): Operation<void> {
  return { type: 9, write: (to) => to.text(path), read: nothing };
}

export const ping: Operation<void> = { type: 11, write: nothing, read: nothing };

/** Ends the session and deletes its ephemeral nodes. */
export const endSession: Operation<void> = { type: -11, write: nothing, read: nothing };

export function authenticate(scheme: string, credentials: string): Operation<void> {
  return { type: 100, write: (to) => to.int(0).text(scheme).text(credentials), read: nothing };
}

/** All operations in one transaction, or none: then it fails with the error of the first that could not be done. */
export function multi(parts: readonly Operation<unknown>[]): Operation<unknown[]> {
  return {
    type: 14,
    write: (to) => {
      for (const part of parts) part.write(to.int(part.type).bool(false).int(-1));
      to.int(-1).bool(true).int(-1);
    },
    read: (from) => {
      const results: unknown[] = [];
      let failure: ZooKeeperError | undefined;
      for (let type = from.int(); !from.bool(); type = from.int()) {
        from.int();
        const part = parts[results.length];
        if (type !== -1) results.push(part?.read(from));
        else {
          const code = from.int();
          // The parts before the one that failed have code 0, those after it -2: not tried.
          if (code !== 0 && code !== -2) failure ??= new ZooKeeperError(code, results.length);
          results.push(undefined);
        }
      }
      if (results.length !== parts.length) {
        throw new RangeError(`it has ${results.length} results for ${parts.length} operations`);
      }
      if (failure !== undefined) throw failure;
      return results;
    },
  };
}

function nothing(): void {
  return undefined;
}

function readStat(from: JuteReader): Stat {
  const czxid = from.long();
  const mzxid = from.long();
  // The times of both, by the server's clock.
  from.long();
  from.long();
  const version = from.int();
  from.int();
  from.int();
  const ephemeralOwner = from.id();
  from.int();
  const children = from.int();
  return { czxid, mzxid, version, ephemeralOwner, children, pzxid: from.long() };
}

/** Writes one request: big-endian numbers; texts and lists are preceded by their length. */
export class JuteWriter {
  private buffer = Buffer.allocUnsafe(256);
  /** The first four bytes are for the length of the request. */
  private at = 4;

  int(value: number): this {
    this.reserve(4);
    this.at = this.buffer.writeInt32BE(value, this.at);
    return this;
  }

  /** @param value a safe integer */
  long(value: number): this {
    this.reserve(8);
    this.at = this.buffer.writeBigInt64BE(BigInt(value), this.at);
    return this;
  }

  bool(value: boolean): this {
    this.reserve(1);
    this.at = this.buffer.writeUInt8(value ? 1 : 0, this.at);
    return this;
  }

  text(value: string): this {
    const length = Buffer.byteLength(value);
    this.int(length).reserve(length);
    this.at += this.buffer.write(value, this.at);
    return this;
  }

  bytes(value: Uint8Array): this {
    return this.int(value.length).raw(value);
  }

  /** Bytes without their length. */
  raw(value: Uint8Array): this {
    this.reserve(value.length);
    this.buffer.set(value, this.at);
    this.at += value.length;
    return this;
  }

  /** The whole request, ready to send. */
  frame(): Buffer {
    this.buffer.writeInt32BE(this.at - 4, 0);
    return this.buffer.subarray(0, this.at);
  }

  private reserve(length: number): void {
    if (this.at + length <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.at + length));
    this.buffer.copy(larger, 0, 0, this.at);
    this.buffer = larger;
  }
}

/** Reads a reply. Throws a RangeError if it is too short. */
export class JuteReader {
  private at = 0;

  constructor(private readonly buffer: Buffer) {}

  int(): number {
    return this.buffer.readInt32BE(this.take(4));
  }

  /** A number below 2^53, such as a transaction id after fewer than two million elections. */
  long(): number {
    const at = this.take(8);
    return this.buffer.readInt32BE(at) * 2 ** 32 + this.buffer.readUInt32BE(at + 4);
  }

  /** A 64-bit number that is only compared: 16 hexadecimal digits. */
  id(): string {
    const at = this.take(8);
    return this.buffer.toString('hex', at, at + 8);
  }

  bool(): boolean {
    return this.buffer.readUInt8(this.take(1)) !== 0;
  }

  text(): string {
    return this.bytes().toString();
  }

  bytes(): Buffer {
    const length = this.length();
    const at = this.take(length);
    return this.buffer.subarray(at, at + length);
  }

  list<T>(read: () => T): T[] {
    const items: T[] = [];
    for (let left = this.length(); left > 0; left--) items.push(read());
    return items;
  }

  /** -1 stands for an empty text or list, too. */
  private length(): number {
    const length = this.int();
    if (length < -1) throw new RangeError(`a length can't be ${length}`);
    return Math.max(length, 0);
  }

  /** Skips this many bytes; returns where they begin. */
  private take(length: number): number {
    const { at } = this;
    if (at + length > this.buffer.length) throw new RangeError('it ends too early');
    this.at += length;
    return at;
  }
}
