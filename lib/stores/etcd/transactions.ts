import { Outbox } from '../port/outbox.js';
import { storeFailure } from '../port/store-failure.js';
import type { AtRevision, RangeCall, Reply, Transaction, TransactionReply } from './connection/protocol.js';

/** etcd's default limit for the operations, and for the conditions, of a transaction. */
const MOST_OPERATIONS = 128;
/** Transactions in one request. The rest of the limit is left for the operations of each nested one. */
const MOST_TOGETHER = MOST_OPERATIONS / 2;
/** The most bytes of one request; etcd rejects one of more than 1.5 MiB by default. */
const MOST_BYTES = 1024 * 1024;
/** What a request has for each condition and operation, besides names and values. */
const FRAME = 32;

/**
 * The most operations of transactions without a reply, and the most requests: etcd carries them out in a fraction of the
 * time that a request may take. More at once would only be later, and be repeated together if the connection is lost.
 */
const MOST_UNDER_WAY = 512;
const MOST_REQUESTS = 64;
/** How far a request looks for transactions of other keys. */
const LOOKS_AHEAD = 1_024;

/** The most requests without a reply that only read. */
const MOST_READS = 16;

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
 * only one transaction for each key, since etcd checks all conditions before it carries anything out. While too many are
 * under way, the others wait, in order; renewals and the others take no room from each other.
 */
export class Transactions {
  private readonly renewals: Lane;
  private readonly others: Lane;

  constructor(send: Send) {
    this.renewals = new Lane(send);
    this.others = new Lane(send);
  }

  /**
   * @param concerns the keys that the conditions and operations concern, or one that stands for them
   * @param behind not sent before earlier transactions that concern this key
   */
  run(
    concerns: readonly string[],
    transaction: Transaction,
    { behind, isRenewal = false }: { readonly behind?: string; readonly isRenewal?: boolean } = {},
  ): Promise<AtRevision<TransactionReply>> {
    return new Promise((resolve, reject) => {
      const bytes = bytesOf(transaction);
      const lane = isRenewal ? this.renewals : this.others;
      lane.items.push({ concerns, behind, transaction, bytes, resolve, reject });
      // Renewals of the tick first, whichever came first.
      this.renewals.outbox.schedule();
      this.others.outbox.schedule();
    });
  }
}

/** Transactions of one kind. */
class Lane {
  items: Item[] = [];
  /** Operations without a reply. */
  private operations = 0;
  readonly outbox = new Outbox(MOST_REQUESTS, (ended) => this.sendNext(ended));

  constructor(private readonly send: Send) {}

  private sendNext(ended: () => void): boolean {
    const { items } = this;
    if (items.length === 0 || this.operations >= MOST_UNDER_WAY) return false;
    const batch: Item[] = [];
    const later: Item[] = [];
    const concerned = new Set<string>();
    const postponed = new Set<string>();
    let bytes = 0;
    let index = 0;
    for (; index < items.length && index < LOOKS_AHEAD && batch.length < MOST_TOGETHER; index++) {
      const item = items[index];
      if (item === undefined) break;
      const fits = batch.length === 0 || bytes + item.bytes <= MOST_BYTES;
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
    this.items = [...later, ...items.slice(index)];
    const operations = batch.reduce((sum, { transaction }) => sum + transaction.then.length, 0);
    this.operations += operations;
    void this.sendBatch(batch).finally(() => {
      this.operations -= operations;
      ended();
    });
    return true;
  }

  private async sendBatch(batch: readonly Item[]): Promise<void> {
    const [first] = batch;
    if (first === undefined) return;
    try {
      if (batch.length === 1) {
        first.resolve(await this.send(first.transaction));
        return;
      }
      const then = batch.map(({ transaction }) => transaction);
      const { revision, reply } = await this.send({ do: 'txn', then });
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
        await Promise.all(batch.map((item) => this.sendBatch([item])));
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

interface Read {
  readonly ranges: readonly RangeCall[];
  readonly resolve: (found: AtRevision<readonly Reply[]>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads ranges. Those of one tick are one request, to which etcd replies without a write. While too many requests are under
 * way, the others wait, in order.
 */
export class Reads {
  private waiting: Read[] = [];
  private readonly outbox = new Outbox(MOST_READS, (ended) => this.sendNext(ended));

  constructor(private readonly send: Send) {}

  /** What the ranges contain at the same revision. */
  of(...ranges: readonly RangeCall[]): Promise<AtRevision<readonly Reply[]>> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ ranges, resolve, reject });
      this.outbox.schedule();
    });
  }

  private sendNext(ended: () => void): boolean {
    /** Each range once, with its position in the request. */
    const places = new Map<string, number>();
    const then: RangeCall[] = [];
    let count = 0;
    for (const { ranges } of this.waiting) {
      if (then.length + ranges.length > MOST_OPERATIONS) break;
      count += 1;
      for (const range of ranges) {
        if (places.has(nameOf(range))) continue;
        places.set(nameOf(range), then.length);
        then.push(range);
      }
    }
    if (count > 0) void this.read(this.waiting.splice(0, count), then, places).finally(ended);
    return count > 0;
  }

  private async read(
    reads: readonly Read[],
    then: readonly RangeCall[],
    places: ReadonlyMap<string, number>,
  ): Promise<void> {
    try {
      const { revision, reply } = await this.send({ do: 'txn', then });
      for (const { ranges, resolve } of reads) {
        const found = ranges.flatMap((range) => reply.replies[places.get(nameOf(range)) ?? -1] ?? []);
        resolve({ revision, reply: found });
      }
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
  }
}

function nameOf({ key, end = '' }: RangeCall): string {
  return `${key}\n${end}`;
}
