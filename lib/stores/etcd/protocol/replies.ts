import { fieldsOf } from './wire.js';

export interface KeyValue {
  readonly key: string;
  readonly value: string;
  /** The revision at which it was put while it was not there. */
  readonly created: number;
  /** The revision at which it was put last. */
  readonly modified: number;
  /** The lease with which it ends; 0 for none. */
  readonly lease: number;
}

export interface RangeReply {
  readonly do: 'range';
  /** The oldest first. */
  readonly entries: readonly KeyValue[];
  readonly count: number;
}

/** What a range that was asked for as one of several things has found. */
export function foundIn(reply: Reply | undefined): readonly KeyValue[] {
  if (reply?.do !== 'range') throw new Error('etcd answered something else than was asked');
  return reply.entries;
}

export interface PutReply {
  readonly do: 'put';
}

export interface DeleteReply {
  readonly do: 'delete';
  readonly deleted: number;
}

export interface TransactionReply {
  readonly do: 'txn';
  /** Whether its conditions were true. */
  readonly succeeded: boolean;
  /** Of what was carried out, in order. */
  readonly replies: readonly Reply[];
}

export type Reply = RangeReply | PutReply | DeleteReply | TransactionReply;

/** An answer, and how many changes of etcd were before it. */
export interface AtRevision<T> {
  readonly revision: number;
  readonly reply: T;
}

export function decodeRange(message: Buffer): AtRevision<RangeReply> {
  return { revision: revisionIn(message), reply: readRange(message) };
}

export function decodeTransaction(message: Buffer): AtRevision<TransactionReply> {
  return { revision: revisionIn(message), reply: readTransaction(message) };
}

export interface LeaseReply {
  readonly id: number;
  /** s; 0 or less if the lease is not there any more. */
  readonly ttl: number;
}

export function decodeLease(message: Buffer): LeaseReply {
  let [id, ttl] = [0, 0];
  for (const { number, int } of fieldsOf(message)) {
    if (number === 2) id = int;
    else if (number === 3) ttl = int;
  }
  return { id, ttl };
}

/** The token with which requests are made. */
export function decodeAuthenticate(message: Buffer): string {
  for (const { number, bytes } of fieldsOf(message)) if (number === 2) return bytes.toString();
  throw new Error('etcd answered no token');
}

export interface StatusReply {
  readonly version: string;
  /** Whether it knows a leader. */
  readonly hasLeader: boolean;
  readonly isLearner: boolean;
  /** Such as that it has no space. */
  readonly errors: readonly string[];
}

export function decodeStatus(message: Buffer): StatusReply {
  let [version, hasLeader, isLearner] = ['', false, false];
  const errors: string[] = [];
  for (const { number, int, bytes } of fieldsOf(message)) {
    if (number === 2) version = bytes.toString();
    else if (number === 4) hasLeader = int !== 0;
    else if (number === 8) errors.push(bytes.toString());
    else if (number === 10) isLearner = int !== 0;
  }
  return { version, hasLeader, isLearner, errors };
}

export interface WatchReply {
  readonly id: number;
  readonly revision: number;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly reason: string;
  readonly events: readonly KeyValue[];
}

export function decodeWatch(message: Buffer): WatchReply {
  let [id, created, canceled, reason] = [0, false, false, ''];
  const events: KeyValue[] = [];
  for (const { number, int, bytes } of fieldsOf(message)) {
    if (number === 2) id = int;
    else if (number === 3) created = int !== 0;
    else if (number === 4) canceled = int !== 0;
    else if (number === 6) reason = bytes.toString();
    else if (number === 11) events.push(readEvent(bytes));
  }
  return { id, revision: revisionIn(message), created, canceled, reason, events };
}

export function decodeNothing(): undefined {
  return undefined;
}

function readEvent(message: Buffer): KeyValue {
  for (const { number, bytes } of fieldsOf(message)) if (number === 2) return readKeyValue(bytes);
  throw new Error('an event of etcd names no key');
}

/** That of the header, which all answers have as their first field. */
function revisionIn(message: Buffer): number {
  for (const { number, bytes } of fieldsOf(message)) {
    if (number !== 1) continue;
    for (const field of fieldsOf(bytes)) if (field.number === 3) return field.int;
    break;
  }
  return 0;
}

function readKeyValue(message: Buffer): KeyValue {
  let [key, value, created, modified, lease] = ['', '', 0, 0, 0];
  for (const { number, int, bytes } of fieldsOf(message)) {
    if (number === 1) key = bytes.toString();
    else if (number === 2) created = int;
    else if (number === 3) modified = int;
    else if (number === 5) value = bytes.toString();
    else if (number === 6) lease = int;
  }
  return { key, value, created, modified, lease };
}

function readRange(message: Buffer): RangeReply {
  const entries: KeyValue[] = [];
  let count = 0;
  for (const { number, int, bytes } of fieldsOf(message)) {
    if (number === 2) entries.push(readKeyValue(bytes));
    else if (number === 4) count = int;
  }
  return { do: 'range', entries, count };
}

function readTransaction(message: Buffer): TransactionReply {
  let succeeded = false;
  const replies: Reply[] = [];
  for (const { number, int, bytes } of fieldsOf(message)) {
    if (number === 2) succeeded = int !== 0;
    else if (number === 3) replies.push(readReply(bytes));
  }
  return { do: 'txn', succeeded, replies };
}

function readReply(message: Buffer): Reply {
  for (const { number, bytes } of fieldsOf(message)) {
    if (number === 1) return readRange(bytes);
    if (number === 2) return { do: 'put' };
    if (number === 3) return { do: 'delete', deleted: readDeleted(bytes) };
    if (number === 4) return readTransaction(bytes);
  }
  throw new Error('etcd answered something else than was asked');
}

function readDeleted(message: Buffer): number {
  for (const { number, int } of fieldsOf(message)) if (number === 2) return int;
  return 0;
}
