import { storeFailure } from '../port/store-failure.js';
import {
  foundIn,
  type AtRevision,
  type KeyValue,
  type Reply,
  type Transaction,
  type TransactionReply,
} from './connection/protocol.js';

/** etcd's default limit for the operations, and for the conditions, of a transaction. */
const MOST_OPERATIONS = 128;
/** Transactions in one request. The rest of the limit is left for the operations of each nested one. */
const MOST_TOGETHER = MOST_OPERATIONS / 2;
/** The most bytes of one request; etcd rejects one of more than 1.5 MiB by default. */
const MOST_BYTES = 1024 * 1024;
/** What a request has for each condition and operation, besides names and values. */
const FRAME = 32;

type Send = (transaction: Transaction) => Promise<AtRevision<TransactionReply>>;

interface Item {
  readonly concerns: readonly string[];
  readonly behind: string | undefined;
  readonly transaction: Transaction;
  readonly bytes: number;
  readonly resolve: (reply: AtRevision<TransactionReply>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends the transactions of one tick as one request, which costs each member a single write to its log. A request has
 * only one transaction for each key, since etcd checks all conditions before it carries anything out.
 */
export class Transactions {
  private items: Item[] = [];

  constructor(private readonly send: Send) {}

  /**
   * @param concerns the keys that the conditions and operations concern, or one that stands for them
   * @param behind not sent before earlier transactions that concern this key
   */
  run(
    concerns: readonly string[],
    transaction: Transaction,
    behind?: string,
  ): Promise<AtRevision<TransactionReply>> {
    return new Promise((resolve, reject) => {
      this.items.push({ concerns, behind, transaction, bytes: bytesOf(transaction), resolve, reject });
      if (this.items.length === 1) process.nextTick(this.flush);
    });
  }

  private readonly flush = (): void => {
    for (let rest = this.items.splice(0); rest.length > 0;) {
      const batch: Item[] = [];
      const later: Item[] = [];
      const concerned = new Set<string>();
      const postponed = new Set<string>();
      let bytes = 0;
      for (const item of rest) {
        const hasRoom = batch.length < MOST_TOGETHER && bytes + item.bytes <= MOST_BYTES;
        const fits = batch.length === 0 || hasRoom;
        const isEarly = item.behind !== undefined && postponed.has(item.behind);
        if (!fits || isEarly || item.concerns.some((key) => concerned.has(key) || postponed.has(key))) {
          later.push(item);
          for (const key of item.concerns) postponed.add(key);
        } else {
          batch.push(item);
          bytes += item.bytes;
          for (const key of item.concerns) concerned.add(key);
        }
      }
      rest = later;
      void this.sendBatch(batch);
    }
  };

  private async sendBatch(batch: readonly Item[]): Promise<void> {
    const [first] = batch;
    if (first === undefined) return;
    try {
      if (batch.length === 1) {
        first.resolve(await this.send(first.transaction));
        return;
      }
      const all = batch.map(({ transaction }) => transaction);
      const { revision, reply } = await this.send({ do: 'txn', then: all });
      batch.forEach((item, index) => {
        const own: Reply | undefined = reply.replies[index];
        if (own?.do === 'txn') item.resolve({ revision, reply: own });
        else item.reject(storeFailure('etcd sent an unexpected reply'));
      });
    } catch (error) {
      const failure = storeFailure(error);
      // etcd rejected the whole request. Each transaction is sent again separately, so that only the cause of the error
      // fails.
      if (batch.length > 1 && !failure.inDoubt && !failure.unreachable) {
        for (const item of batch) void this.sendBatch([item]);
      } else for (const item of batch) item.reject(failure);
    }
  }
}

/** About the bytes of a transaction in a request. */
function bytesOf({ if: conditions = [], then, else: otherwise = [] }: Transaction): number {
  let bytes = FRAME;
  for (const part of [...conditions, ...then, ...otherwise]) {
    if ('do' in part && part.do === 'txn') bytes += bytesOf(part);
    else {
      const { key, end = '', value = '' } = part as { key: string; end?: string | undefined; value?: string };
      bytes += FRAME + Buffer.byteLength(key) + Buffer.byteLength(end) + Buffer.byteLength(value);
    }
  }
  return bytes;
}

/** A key at a revision; undefined if it does not exist. */
interface Found {
  readonly revision: number;
  readonly entry: KeyValue | undefined;
}

interface Lookup {
  readonly key: string;
  readonly resolve: (found: Found) => void;
  readonly reject: (error: unknown) => void;
}

/** Reads single keys. The lookups of one tick are one request, to which etcd replies without a write. */
export class Lookups {
  private waiting: Lookup[] = [];

  constructor(private readonly send: Send) {}

  find(key: string): Promise<Found> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ key, resolve, reject });
      if (this.waiting.length === 1) process.nextTick(this.flush);
    });
  }

  private readonly flush = (): void => {
    const all = this.waiting.splice(0);
    for (let start = 0; start < all.length; start += MOST_OPERATIONS)
      void this.lookUp(all.slice(start, start + MOST_OPERATIONS));
  };

  private async lookUp(lookups: readonly Lookup[]): Promise<void> {
    const then = lookups.map(({ key }) => ({ do: 'range', key }) as const);
    try {
      const { revision, reply } = await this.send({ do: 'txn', then });
      lookups.forEach(({ resolve }, index) => {
        resolve({ revision, entry: foundIn(reply.replies[index])[0] });
      });
    } catch (error) {
      for (const { reject } of lookups) reject(error);
    }
  }
}
