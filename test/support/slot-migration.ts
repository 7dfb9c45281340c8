import type { Redis } from 'ioredis';
import type { RedisServer } from './redis-server.js';

/** The parts of a cluster that a migration uses. */
export interface MigrationTools {
  clientOf(server: RedisServer): Redis;
  idOf(server: RedisServer): Promise<string>;
  /** Reports the new owner to all other nodes, and waits until they know it. */
  settle(): Promise<void>;
}

/** The migration of one slot from one primary to another, step by step. */
export class SlotMigration {
  private constructor(
    readonly slot: number,
    readonly from: RedisServer,
    readonly to: RedisServer,
    private readonly tools: MigrationTools,
  ) {}

  static async begin(
    slot: number,
    from: RedisServer,
    to: RedisServer,
    tools: MigrationTools,
  ): Promise<SlotMigration> {
    if (from === to) throw new Error(`slot ${slot} is at ${to.url} already`);
    // In this order: clients are redirected to the new server only when it accepts them.
    await tools.clientOf(to).call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', await tools.idOf(from));
    await tools.clientOf(from).call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', await tools.idOf(to));
    return new SlotMigration(slot, from, to, tools);
  }

  /** Moves all keys in the slot, or only these. */
  async moveKeys(keys?: readonly string[]): Promise<void> {
    const client = this.tools.clientOf(this.from);
    for (;;) {
      const batch = keys ?? ((await client.call('CLUSTER', 'GETKEYSINSLOT', this.slot, 1_000)) as string[]);
      if (batch.length === 0) return;
      await client.call('MIGRATE', this.to.host, this.to.port, '', 0, 5_000, 'KEYS', ...batch);
      if (keys) return;
    }
  }

  /** Gives the slot to the new server; resolves when all nodes know. Keys that were not moved are lost. */
  async finish(): Promise<void> {
    const id = await this.tools.idOf(this.to);
    // The new one first: in between, both servers serve the slot rather than none.
    for (const server of [this.to, this.from]) {
      await this.tools.clientOf(server).call('CLUSTER', 'SETSLOT', this.slot, 'NODE', id);
    }
    await this.tools.settle();
  }
}
