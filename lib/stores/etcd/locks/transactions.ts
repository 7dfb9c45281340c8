import type { LockStoreError } from '../../port/lock-store.js';
import { storeFailure } from '../../port/store-failure.js';
import type { AtRevision, Reply, TransactionReply } from '../protocol/replies.js';
import type { Transaction } from '../protocol/requests.js';

/** etcd carries out 128 in one transaction by default; those within each are counted, too. */
const MOST_TOGETHER = 64;

interface Item {
  readonly keys: readonly string[];
  readonly behind: string | undefined;
  readonly transaction: Transaction;
  readonly resolve: (reply: AtRevision<TransactionReply>) => void;
  readonly reject: (error: LockStoreError) => void;
}

/**
 * Sends what is asked in one tick together: etcd writes one entry to the log of each member for it. Of one key there is
 * only one in a batch, since conditions are checked before any of it is done.
 */
export class Transactions {
  private items: Item[] = [];
  private isScheduled = false;

  constructor(private readonly send: (transaction: Transaction) => Promise<AtRevision<TransactionReply>>) {}

  /**
   * @param keys of the locks that it is about
   * @param behind the key of a lock: what was asked about that before goes out with it at the latest
   */
  run(
    keys: readonly string[],
    transaction: Transaction,
    behind?: string,
  ): Promise<AtRevision<TransactionReply>> {
    return new Promise((resolve, reject) => {
      this.items.push({ keys, behind, transaction, resolve, reject });
      if (this.isScheduled) return;
      this.isScheduled = true;
      process.nextTick(this.flush);
    });
  }

  private readonly flush = (): void => {
    this.isScheduled = false;
    for (let rest = this.items.splice(0); rest.length > 0;) {
      const batch: Item[] = [];
      const later: Item[] = [];
      const keys = new Set<string>();
      const postponed = new Set<string>();
      for (const item of rest) {
        const isAlone = item.keys.length > 1;
        const fits = isAlone ? batch.length === 0 : batch.length < MOST_TOGETHER;
        const isEarly = item.behind !== undefined && postponed.has(item.behind);
        if (!fits || isEarly || keys.has('') || item.keys.some((key) => keys.has(key))) {
          later.push(item);
          for (const key of item.keys) postponed.add(key);
        } else {
          batch.push(item);
          for (const key of item.keys) keys.add(key);
          // Nothing goes with one that is about many.
          if (isAlone) keys.add('');
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
      const { revision, reply } = await this.send({ do: 'txn', if: [], then: all, else: [] });
      batch.forEach((item, index) => {
        const own: Reply | undefined = reply.replies[index];
        if (own?.do === 'txn') item.resolve({ revision, reply: own });
        else item.reject(storeFailure('etcd answered something else than was asked'));
      });
    } catch (error) {
      const failure = storeFailure(error);
      // Nothing of it was done: one request's trouble must not become that of the others.
      if (batch.length > 1 && !failure.inDoubt && !failure.unreachable) {
        for (const item of batch) void this.sendBatch([item]);
      } else for (const item of batch) item.reject(failure);
    }
  }
}
