import { MessageWriter } from './wire.js';

/** Something that has to be true for the first part of a transaction to be carried out, of a key or of all keys of a range. */
export type Condition = { readonly key: string; readonly end?: string | undefined } & (
  | { readonly created: number }
  | { readonly modified: number; readonly orBefore?: boolean }
  | { readonly value: string }
  /** With which lease it ends. */
  | { readonly lease: number }
);

export interface RangeCall {
  readonly do: 'range';
  readonly key: string;
  /** The first key after the range; left out, only `key` is meant. */
  readonly end?: string | undefined;
  readonly countOnly?: boolean;
  /** At most so many; all if left out. */
  readonly limit?: number;
  /** Without their values and in the order of the keys; else the oldest first. */
  readonly keysOnly?: boolean;
  /** As it was at that revision; as it is now if left out. */
  readonly revision?: number;
  /** Whether it is enough to know what the member knows that is asked; not if left out. */
  readonly serializable?: boolean;
}

export interface PutCall {
  readonly do: 'put';
  readonly key: string;
  readonly value: string;
  /** The lease with which it ends; 0 for none, and `keep` for the one that it has. */
  readonly lease: number | 'keep';
}

export interface DeleteCall {
  readonly do: 'delete';
  readonly key: string;
  readonly end?: string | undefined;
}

/** All of its conditions are checked before anything is done. */
export interface Transaction {
  readonly do: 'txn';
  readonly if: readonly Condition[];
  readonly then: readonly Call[];
  readonly else: readonly Call[];
}

export type Call = RangeCall | PutCall | DeleteCall | Transaction;

/** As the enumerations of etcd's `rpc.proto` have them. */
const EQUAL = 0;
const LESS = 2;
const CREATE = 1;
const MOD = 2;
const VALUE = 3;
const LEASE = 4;
const SORT_BY_CREATION = 2;
const ASCENDING = 1;
/** Kinds of events that are not wanted. */
const NO_PUTS = 0;
const NO_DELETIONS = 1;

export function encodeRange(call: RangeCall): Buffer {
  const writer = new MessageWriter();
  writeRange(writer, call);
  return writer.finish();
}

export function encodeTransaction(transaction: Transaction): Buffer {
  const writer = new MessageWriter();
  writeTransaction(writer, transaction);
  return writer.finish();
}

export function encodeLeaseGrant({ id, ttl }: { readonly id: number; readonly ttl: number }): Buffer {
  return new MessageWriter().int(1, ttl).int(2, id).finish();
}

export function encodeLeaseId(id: number): Buffer {
  return new MessageWriter().int(1, id).finish();
}

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export function encodeAuthenticate({ username, password }: Credentials): Buffer {
  return new MessageWriter().string(1, username).string(2, password).finish();
}

export type WatchCall =
  | {
      readonly do: 'watch';
      readonly id: number;
      readonly key: string;
      readonly end: string;
      readonly of: 'puts' | 'deletions';
    }
  | { readonly do: 'unwatch'; readonly id: number };

export function encodeWatch(call: WatchCall): Buffer {
  const writer = new MessageWriter();
  if (call.do === 'unwatch') return writer.message(2, () => writer.int(1, call.id)).finish();
  return writer
    .message(1, () => {
      writer
        .string(1, call.key)
        .string(2, call.end)
        .bytes(5, Uint8Array.of(call.of === 'puts' ? NO_DELETIONS : NO_PUTS))
        .int(7, call.id);
    })
    .finish();
}

export function encodeNothing(): Buffer {
  return Buffer.alloc(0);
}

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
  for (const condition of transaction.if)
    writer.message(1, () => {
      writeCondition(writer, condition);
    });
  for (const call of transaction.then)
    writer.message(2, () => {
      writeCall(writer, call);
    });
  for (const call of transaction.else)
    writer.message(3, () => {
      writeCall(writer, call);
    });
}

function writeCondition(writer: MessageWriter, condition: Condition): void {
  const { key, end } = condition;
  const isBefore = 'modified' in condition && condition.orBefore === true;
  writer.int(1, isBefore ? LESS : EQUAL);
  if ('created' in condition) writer.int(2, CREATE).string(3, key).intOrZero(5, condition.created);
  else if ('modified' in condition) {
    writer
      .int(2, MOD)
      .string(3, key)
      .intOrZero(6, condition.modified + (isBefore ? 1 : 0));
  } else if ('lease' in condition) writer.int(2, LEASE).string(3, key).intOrZero(8, condition.lease);
  else writer.int(2, VALUE).string(3, key).string(7, condition.value);
  if (end !== undefined) writer.string(64, end);
}

function writeCall(writer: MessageWriter, call: Call): void {
  switch (call.do) {
    case 'range':
      writer.message(1, () => {
        writeRange(writer, call);
      });
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
      writer.message(4, () => {
        writeTransaction(writer, call);
      });
      break;
  }
}
