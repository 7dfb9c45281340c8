import type { LockBoard } from '../port/lock-store.js';
import type { EtcdConnection } from './connection/etcd-connection.js';
import { methods } from './connection/protocol.js';
import { rangeBelow } from './entry-names.js';
import type { SessionLeases } from './session-leases.js';

/** Keeps each text on an etcd lease that is not kept alive; leases are counted in seconds. */
export class EtcdBoard implements LockBoard {
  private readonly watched: string;
  private readonly texts: string;

  constructor(
    prefix: string,
    private readonly connection: Pick<EtcdConnection, 'call'>,
    private readonly leases: Pick<SessionLeases, 'grantPassing'>,
  ) {
    this.watched = `${prefix}watched`;
    this.texts = `${prefix}of/`;
  }

  watch(ttl: number): Promise<void> {
    return this.put(this.watched, '', ttl);
  }

  async isWatched(): Promise<boolean> {
    return (await this.valuesOf(this.watched)).length > 0;
  }

  publish(name: string, text: string, ttl: number): Promise<void> {
    return this.put(this.texts + name, text, ttl);
  }

  read(): Promise<readonly string[]> {
    const { key, end } = rangeBelow(this.texts);
    return this.valuesOf(key, end);
  }

  private async put(key: string, value: string, ttl: number): Promise<void> {
    const lease = await this.leases.grantPassing(Math.ceil(ttl / 1_000));
    const put = { do: 'put', key, value, lease } as const;
    await this.connection.call(methods.transaction, { do: 'txn', then: [put] });
  }

  private async valuesOf(key: string, end?: string): Promise<readonly string[]> {
    const { reply } = await this.connection.call(methods.range, { do: 'range', key, end });
    return reply.entries.map(({ value }) => value);
  }
}
