import { storeFailure } from '../../port/store-failure.js';
import type { EtcdConnection } from '../connection/etcd-connection.js';
import {
  foundIn,
  methods,
  type AtRevision,
  type Call,
  type Condition,
  type KeyValue,
  type Reply,
  type Transaction,
  type TransactionReply,
} from '../connection/protocol.js';

/** etcd's default limit for the operations, and for the conditions, of a transaction. */
const MOST_OPERATIONS = 128;
/** Transactions in one request. The rest of the limit is left for the operations of each nested one. */
const MOST_TOGETHER = MOST_OPERATIONS / 2;
/** The most bytes of one request; etcd rejects one of more than 1.5 MiB by default. */
const MOST_BYTES = 1024 * 1024;
/** What a request has for each condition and operation, besides names and values. */
const FRAME = 32;

interface Item {
  readonly key: string;
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

  constructor(private readonly send: (transaction: Transaction) => Promise<AtRevision<TransactionReply>>) {}

  /**
   * @param key of the lock or entry that it concerns
   * @param behind a lock's key: not sent before earlier transactions with this key
   */
  run(key: string, transaction: Transaction, behind?: string): Promise<AtRevision<TransactionReply>> {
    return new Promise((resolve, reject) => {
      this.items.push({ key, behind, transaction, bytes: bytesOf(transaction), resolve, reject });
      if (this.items.length === 1) process.nextTick(this.flush);
    });
  }

  /** Carries out the operations if the condition is true, and returns whether it was. */
  async runIf(key: string, condition: Condition, ...then: readonly Call[]): Promise<boolean> {
    const { reply } = await this.run(key, { do: 'txn', if: [condition], then });
    return reply.succeeded;
  }

  private readonly flush = (): void => {
    for (let rest = this.items.splice(0); rest.length > 0;) {
      const batch: Item[] = [];
      const later: Item[] = [];
      const keys = new Set<string>();
      const postponed = new Set<string>();
      let bytes = 0;
      for (const item of rest) {
        const hasRoom = batch.length < MOST_TOGETHER && bytes + item.bytes <= MOST_BYTES;
        const fits = batch.length === 0 || hasRoom;
        const isEarly = item.behind !== undefined && postponed.has(item.behind);
        if (!fits || isEarly || keys.has(item.key)) {
          later.push(item);
          postponed.add(item.key);
        } else {
          batch.push(item);
          bytes += item.bytes;
          keys.add(item.key);
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

interface Lookup {
  readonly name: string;
  readonly resolve: (found: KeyValue | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Checks whether entries exist. The lookups of one tick are one request, to which etcd replies without a write. */
export class EntryLookups {
  private waiting: Lookup[] = [];

  constructor(private readonly connection: Pick<EtcdConnection, 'call'>) {}

  /** The entry without its value; undefined if it does not exist. */
  find(name: string): Promise<KeyValue | undefined> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ name, resolve, reject });
      if (this.waiting.length === 1) process.nextTick(this.flush);
    });
  }

  private readonly flush = (): void => {
    const all = this.waiting.splice(0);
    for (let start = 0; start < all.length; start += MOST_OPERATIONS)
      void this.lookUp(all.slice(start, start + MOST_OPERATIONS));
  };

  private async lookUp(lookups: readonly Lookup[]): Promise<void> {
    const then = lookups.map(({ name }) => ({ do: 'range', key: name, keysOnly: true }) as const);
    try {
      const { reply } = await this.connection.call(methods.transaction, { do: 'txn', then });
      lookups.forEach(({ resolve }, index) => {
        resolve(foundIn(reply.replies[index])[0]);
      });
    } catch (error) {
      for (const { reject } of lookups) reject(error);
    }
  }
}
