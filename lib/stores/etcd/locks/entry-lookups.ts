import type { EtcdConnection } from '../connection/etcd-connection.js';
import { methods } from '../protocol/methods.js';
import { foundIn, type KeyValue } from '../protocol/replies.js';

/** etcd carries out 128 in one transaction by default. */
const MOST_TOGETHER = 128;

interface Lookup {
  readonly name: string;
  readonly resolve: (found: KeyValue | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Looks whether entries are still there. The lookups of one tick are one request, which etcd answers without a write. */
export class EntryLookups {
  private waiting: Lookup[] = [];

  constructor(private readonly connection: Pick<EtcdConnection, 'call'>) {}

  /** The entry without its value; undefined if there is none. */
  find(name: string): Promise<KeyValue | undefined> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ name, resolve, reject });
      if (this.waiting.length === 1) process.nextTick(this.flush);
    });
  }

  private readonly flush = (): void => {
    const all = this.waiting.splice(0);
    for (let start = 0; start < all.length; start += MOST_TOGETHER)
      void this.lookUp(all.slice(start, start + MOST_TOGETHER));
  };

  private async lookUp(lookups: readonly Lookup[]): Promise<void> {
    const ranges = lookups.map(({ name }) => ({ do: 'range', key: name, keysOnly: true }) as const);
    try {
      const transaction = { do: 'txn', if: [], then: ranges, else: [] } as const;
      const { reply } = await this.connection.call(methods.transaction, transaction);
      lookups.forEach(({ resolve }, index) => {
        resolve(foundIn(reply.replies[index])[0]);
      });
    } catch (error) {
      for (const { reject } of lookups) reject(error);
    }
  }
}
