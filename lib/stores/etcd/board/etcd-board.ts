import type { LockBoard } from '../../port/lock-store.js';
import { asked } from '../../port/store-failure.js';
import { endOf } from '../locks/key-names.js';
import type { LockContext } from '../locks/lock-context.js';
import { methods } from '../protocol/methods.js';

/** What processes leave for people: a value for each, on a lease that nobody keeps alive. etcd counts these in seconds. */
export class EtcdBoard implements LockBoard {
  private readonly watched: string;
  private readonly texts: string;

  constructor(private readonly context: LockContext) {
    const { board } = context.names;
    this.watched = `${board}watched`;
    this.texts = `${board}of/`;
  }

  watch(ttl: number): Promise<void> {
    return this.put(this.watched, '', ttl);
  }

  isWatched(): Promise<boolean> {
    return asked(async () => (await this.valuesOf(this.watched)).length > 0);
  }

  publish(name: string, text: string, ttl: number): Promise<void> {
    return this.put(this.texts + name, text, ttl);
  }

  read(): Promise<readonly string[]> {
    return asked(() => this.valuesOf(this.texts, endOf(this.texts)));
  }

  private put(key: string, value: string, ttl: number): Promise<void> {
    return asked(async () => {
      const { connection, leases } = this.context;
      const lease = await leases.grantPassing(Math.ceil(ttl / 1_000));
      const put = { do: 'put', key, value, lease } as const;
      await connection.call(methods.transaction, { do: 'txn', if: [], then: [put], else: [] });
    });
  }

  private async valuesOf(key: string, end?: string): Promise<readonly string[]> {
    const range = { do: 'range', key, end, serializable: false } as const;
    const { reply } = await this.context.connection.call(methods.range, range);
    return reply.entries.map(({ value }) => value);
  }
}
