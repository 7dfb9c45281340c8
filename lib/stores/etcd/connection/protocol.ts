/** The part of etcd's API, version 3, that locks use; messages are encoded as Protocol Buffers. */

export type Condition = { readonly key: string; readonly end?: string | undefined } & (
  { readonly exists: boolean } | { readonly modified: number } | { readonly value: string }
);

export interface RangeCall {
  readonly do: 'range';
  readonly key: string;
  /** The first key after the range. If omitted: `key` only. */
  readonly end?: string | undefined;
  readonly countOnly?: boolean;
  /** The most entries to return. If omitted: all. */
  readonly limit?: number;
  /** Returns keys without values, in the order of the keys instead of by age. */
  readonly keysOnly?: boolean;
  /** Reads the state at this revision. If omitted: the latest. */
  readonly revision?: number;
  /** Whether the member may reply from its own state, which can lag behind. If omitted: false. */
  readonly serializable?: boolean;
}

export interface PutCall {
  readonly do: 'put';
  readonly key: string;
  readonly value: string;
  /** The lease to attach the key to; 0 for none, `keep` for the one it is attached to already. */
  readonly lease: number | 'keep';
}

export interface DeleteCall {
  readonly do: 'delete';
  readonly key: string;
  readonly end?: string | undefined;
}

/** etcd checks all conditions, including those of nested transactions, before it carries anything out. */
export interface Transaction {
  readonly do: 'txn';
  readonly if?: readonly Condition[];
  readonly then: readonly Call[];
  readonly else?: readonly Call[];
}

export type Call = RangeCall | PutCall | DeleteCall | Transaction;

export type WatchCall =
  | {
      readonly do: 'watch';
      readonly id: number;
      readonly key: string;
      readonly end: string;
      readonly of: 'puts' | 'deletions' | 'changes';
    }
  | { readonly do: 'unwatch'; readonly id: number };

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export interface KeyValue {
  readonly key: string;
  readonly value: string;
  /** The revision that created the key; 0 in the event of its deletion. */
  readonly created: number;
  /** The revision of the last change. */
  readonly modified: number;
  /** The id of the lease that the key is attached to; 0 for none. */
  readonly lease: number;
}

export interface RangeReply {
  readonly do: 'range';
  /** Oldest first, unless `keysOnly` was set. */
  readonly entries: readonly KeyValue[];
  readonly count: number;
}

export interface TransactionReply {
  readonly do: 'txn';
  /** Whether all conditions were true. */
  readonly succeeded: boolean;
  readonly replies: readonly Reply[];
}

export type Reply = RangeReply | TransactionReply | { readonly do: 'write' };

export interface AtRevision<T> {
  readonly revision: number;
  readonly reply: T;
}

export interface Lease {
  readonly id: number;
  /** s; in a reply 0 or less if the lease is gone. */
  readonly ttl: number;
}

export interface StatusReply {
  readonly version: string;
  readonly hasLeader: boolean;
  readonly isLearner: boolean;
  /** Alarms, such as `NOSPACE`. */
  readonly errors: readonly string[];
}

export interface WatchReply {
  readonly id: number;
  readonly revision: number;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly reason: string;
  readonly events: readonly KeyValue[];
}

export function foundIn(reply: Reply | undefined): readonly KeyValue[] {
  if (reply?.do !== 'range') throw new Error('etcd sent an unexpected reply');
  return reply.entries;
}

export interface Method<Request, Reply> {
  readonly path: string;
  readonly encode: (request: Request) => Buffer;
  readonly decode: (message: Buffer) => Reply;
}

function method<Request, Reply>(
  path: string,
  write: (writer: MessageWriter, request: Request) => void,
  read: (message: Message) => Reply,
): Method<Request, Reply> {
  const encode = (request: Request): Buffer => {
    const writer = new MessageWriter();
    write(writer, request);
    return writer.finish();
  };
  return { path: `/etcdserverpb.${path}`, encode, decode: (message) => read(new Message(message)) };
}

export const methods = {
  range: method('KV/Range', writeRange, atRevision(readRange)),
  transaction: method('KV/Txn', writeTransaction, atRevision(readTransaction)),
  watch: method('Watch/Watch', writeWatch, readWatch),
  leaseGrant: method('Lease/LeaseGrant', writeLease, readLease),
  leaseRevoke: method('Lease/LeaseRevoke', writeLeaseId, () => undefined),
  leaseKeepAlive: method('Lease/LeaseKeepAlive', writeLeaseId, readLease),
  authenticate: method('Auth/Authenticate', writeCredentials, readToken),
  status: method('Maintenance/Status', (_writer, _request: undefined) => undefined, readStatus),
} as const;

/** Values of the enumerations in etcd's `rpc.proto`. */
const EQUAL = 0;
const GREATER = 1;
const CREATE = 1;
const MOD = 2;
const VALUE = 3;
const SORT_BY_CREATION = 2;
const ASCENDING = 1;
const NO_PUTS = 0;
const NO_DELETIONS = 1;

function writeRange(
  writer: MessageWriter,
  { key, end, countOnly = false, limit = 0, keysOnly = false, revision = 0, serializable = false }: RangeCall,
): void {
  writer.string(1, key);
  if (end !== undefined) writer.string(2, end).int(3, limit);
  writer.int(4, revision).bool(7, serializable);
  if (keysOnly) writer.bool(8, true);
  else if (end !== undefined) writer.int(5, ASCENDING).int(6, SORT_BY_CREATION);
  writer.bool(9, countOnly);
}

function writeTransaction(writer: MessageWriter, transaction: Transaction): void {
  for (const condition of transaction.if ?? []) writer.message(1, () => writeCondition(writer, condition));
  for (const call of transaction.then) writer.message(2, () => writeCall(writer, call));
  for (const call of transaction.else ?? []) writer.message(3, () => writeCall(writer, call));
}

function writeCondition(writer: MessageWriter, condition: Condition): void {
  const { key, end } = condition;
  if ('exists' in condition) {
    const { exists } = condition;
    writer
      .int(1, exists ? GREATER : EQUAL)
      .int(2, CREATE)
      .string(3, key)
      .intOrZero(5, 0);
  } else if ('modified' in condition) {
    writer.int(1, EQUAL).int(2, MOD).string(3, key).intOrZero(6, condition.modified);
  } else writer.int(1, EQUAL).int(2, VALUE).string(3, key).string(7, condition.value);
  if (end !== undefined) writer.string(64, end);
}

function writeCall(writer: MessageWriter, call: Call): void {
  switch (call.do) {
    case 'range':
      writer.message(1, () => writeRange(writer, call));
      break;
    case 'put':
      writer.message(2, () => {
        writer.string(1, call.key).string(2, call.value);
        if (call.lease === 'keep') writer.bool(6, true);
        else writer.int(3, call.lease);
      });
      break;
    case 'delete':
      writer.message(3, () => {
        writer.string(1, call.key);
        if (call.end !== undefined) writer.string(2, call.end);
      });
      break;
    case 'txn':
      writer.message(4, () => writeTransaction(writer, call));
      break;
  }
}

function writeWatch(writer: MessageWriter, call: WatchCall): void {
  if (call.do === 'unwatch') writer.message(2, () => void writer.int(1, call.id));
  else {
    writer.message(1, () => {
      writer.string(1, call.key).string(2, call.end);
      if (call.of !== 'changes') writer.intOrZero(5, call.of === 'puts' ? NO_DELETIONS : NO_PUTS);
      writer.int(7, call.id);
    });
  }
}

function writeLease(writer: MessageWriter, { id, ttl }: Lease): void {
  writer.int(1, ttl).int(2, id);
}

function writeLeaseId(writer: MessageWriter, id: number): void {
  writer.int(1, id);
}

function writeCredentials(writer: MessageWriter, { username, password }: Credentials): void {
  writer.string(1, username).string(2, password);
}

function atRevision<T>(read: (message: Message) => T): (message: Message) => AtRevision<T> {
  return (message) => ({ revision: revisionOf(message), reply: read(message) });
}

/** The revision in the header of a reply. */
function revisionOf(message: Message): number {
  return message.messages(1)[0]?.int(3) ?? 0;
}

function readRange(message: Message): RangeReply {
  return { do: 'range', entries: message.messages(2).map(readKeyValue), count: message.int(4) };
}

function readKeyValue(message: Message): KeyValue {
  return {
    key: message.text(1),
    value: message.text(5),
    created: message.int(2),
    modified: message.int(3),
    lease: message.int(6),
  };
}

function readTransaction(message: Message): TransactionReply {
  return { do: 'txn', succeeded: message.bool(2), replies: message.messages(3).map(readReply) };
}

function readReply(message: Message): Reply {
  const [range] = message.messages(1);
  const [transaction] = message.messages(4);
  if (range !== undefined) return readRange(range);
  return transaction === undefined ? { do: 'write' } : readTransaction(transaction);
}

function readWatch(message: Message): WatchReply {
  return {
    id: message.int(2),
    revision: revisionOf(message),
    created: message.bool(3),
    canceled: message.bool(4),
    reason: message.text(6),
    events: message.messages(11).flatMap((event) => event.messages(2).map(readKeyValue)),
  };
}

function readLease(message: Message): Lease {
  return { id: message.int(2), ttl: message.int(3) };
}

function readToken(message: Message): string {
  return message.text(2);
}

function readStatus(message: Message): StatusReply {
  return {
    version: message.text(2),
    hasLeader: message.bool(4),
    isLearner: message.bool(10),
    errors: message.texts(8),
  };
}

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** Bytes reserved for the length of a nested message, which is known only once the message is written. */
const LENGTH_SIZE = 4;
const FIRST_SIZE = 512;

/** Writes a message. Numbers are written as int64 and must be safe integers that are not negative. */
export class MessageWriter {
  private buffer = Buffer.allocUnsafe(FIRST_SIZE);
  private end = 0;

  /** Omits zero, the default of every field. */
  int(field: number, value: number): this {
    return value === 0 ? this : this.intOrZero(field, value);
  }

  /** For a field whose presence counts. */
  intOrZero(field: number, value: number): this {
    this.tag(field, VARINT);
    this.varint(value);
    return this;
  }

  bool(field: number, value: boolean): this {
    return this.int(field, value ? 1 : 0);
  }

  string(field: number, value: string): this {
    const length = Buffer.byteLength(value);
    this.tag(field, BYTES);
    this.varint(length);
    this.reserve(length);
    this.buffer.write(value, this.end, 'utf8');
    this.end += length;
    return this;
  }

  message(field: number, write: (writer: this) => void): this {
    this.tag(field, BYTES);
    this.reserve(LENGTH_SIZE);
    const at = this.end;
    this.end += LENGTH_SIZE;
    write(this);
    // Padded to the reserved size: a varint may be longer than necessary.
    let length = this.end - at - LENGTH_SIZE;
    for (let index = 0; index < LENGTH_SIZE; index++) {
      this.buffer[at + index] = (length & 0x7f) | (index < LENGTH_SIZE - 1 ? 0x80 : 0);
      length >>>= 7;
    }
    return this;
  }

  finish(): Buffer {
    return this.buffer.subarray(0, this.end);
  }

  private tag(field: number, type: number): void {
    this.varint(field * 8 + type);
  }

  private varint(value: number): void {
    this.reserve(10);
    let rest = value;
    while (rest > 0x7f) {
      this.buffer[this.end++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.buffer[this.end++] = rest;
  }

  private reserve(more: number): void {
    const needed = this.end + more;
    if (needed <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.buffer.length));
    this.buffer.copy(larger, 0, 0, this.end);
    this.buffer = larger;
  }
}

/** A field of a message that is being read: `int` is set for a varint, `bytes` for every other type. */
export interface Field {
  readonly number: number;
  readonly int: number;
  readonly bytes: Buffer;
}

/** A message that is being read. Absent fields have the default value of their type. */
class Message {
  private readonly fields: readonly Field[];

  constructor(message: Buffer) {
    this.fields = [...fieldsOf(message)];
  }

  int(number: number): number {
    return this.all(number)[0]?.int ?? 0;
  }

  bool(number: number): boolean {
    return this.int(number) !== 0;
  }

  text(number: number): string {
    return this.texts(number)[0] ?? '';
  }

  texts(number: number): readonly string[] {
    return this.all(number).map(({ bytes }) => bytes.toString());
  }

  messages(number: number): readonly Message[] {
    return this.all(number).map(({ bytes }) => new Message(bytes));
  }

  private all(number: number): readonly Field[] {
    return this.fields.filter((field) => field.number === number);
  }
}

const NO_BYTES = Buffer.alloc(0);

/** The fields of a message, in order. Throws if the message is cut off. */
export function* fieldsOf(message: Buffer): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 10; count++) {
      const byte = message[at++];
      if (byte === undefined) break;
      value += (byte & 0x7f) * scale;
      // Negative numbers are written as 64-bit two's complement.
      if (byte < 0x80) return value >= 2 ** 63 ? value - 2 ** 64 : value;
      scale *= 0x80;
    }
    throw new Error('a message of etcd could not be read');
  };
  const take = (length: number): Buffer => {
    const from = at;
    at += length;
    if (at > message.length) throw new Error('a message of etcd is cut off');
    return message.subarray(from, at);
  };
  while (at < message.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    const type = tag & 7;
    if (type === VARINT) yield { number, int: varint(), bytes: NO_BYTES };
    else if (type === BYTES) yield { number, int: 0, bytes: take(varint()) };
    else if (type === FIXED64) yield { number, int: 0, bytes: take(8) };
    else if (type === FIXED32) yield { number, int: 0, bytes: take(4) };
    else throw new Error(`a message of etcd has a field of the unknown type ${String(type)}`);
  }
}
