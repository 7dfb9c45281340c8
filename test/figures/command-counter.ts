import type { Redis } from 'ioredis';
import type { RedisServer } from '../support/redis-server.js';
import { elapse } from '../support/until.js';
import { machineNow } from './client.js';
import { rounded } from './spread.js';

/** Commands for each lock, as the servers counted them (`INFO commandstats`), summed over servers. */
export interface Commands {
  readonly scripts: number;
  readonly wait: number;
  /** All commands of primaries, including those in scripts. */
  readonly all: number;
  /** Replicated commands on replicas. */
  readonly atReplicas: number;
}

const NOTHING: Commands = { scripts: 0, wait: 0, all: 0, atReplicas: 0 };
/** ms */
const IDLE = 2_000;

/** Counts the commands that locks cause, without background traffic: heartbeats, sentinels, the counting itself. */
export class CommandCounter {
  private startedAt = 0;

  private constructor(
    private readonly clients: readonly Redis[],
    /** Commands per ms without locks. */
    private readonly background: Commands,
  ) {}

  /** Measures the background traffic first; no locks may be used meanwhile. */
  static async on(servers: readonly RedisServer[]): Promise<CommandCounter> {
    const clients = servers.map((server) => server.client());
    const idle = new CommandCounter(clients, NOTHING);
    await idle.begin();
    await elapse(IDLE);
    return new CommandCounter(clients, (await idle.total())(machineNow() - idle.startedAt));
  }

  async begin(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.config('RESETSTAT')));
    this.startedAt = machineNow();
  }

  async end(locks: number): Promise<Commands> {
    return (await this.total())(locks);
  }

  /** The counts since `begin()`, for callers that learn the number of locks later. */
  async total(): Promise<(locks: number) => Commands> {
    const counts = await Promise.all(this.clients.map(countsOf));
    const ms = machineNow() - this.startedAt;
    return (locks) => {
      const each = (name: keyof Commands): number =>
        (counts.reduce((sum, count) => sum + count[name], 0) - this.background[name] * ms) / locks;
      return {
        scripts: rounded(each('scripts')),
        wait: rounded(each('wait')),
        all: rounded(each('all')),
        atReplicas: rounded(each('atReplicas')),
      };
    };
  }
}

async function countsOf(client: Redis): Promise<Commands> {
  const [stats, replication] = await Promise.all([client.info('commandstats'), client.info('replication')]);
  const calls = new Map<string, number>();
  for (const [, name = '', count] of stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm))
    calls.set(name, Number(count));
  const all = [...calls.values()].reduce((sum, count) => sum + count, 0);
  if (!replication.includes('role:master')) return { ...NOTHING, atReplicas: all };
  const of = (name: string): number => calls.get(name) ?? 0;
  return { scripts: of('evalsha') + of('eval'), wait: of('wait'), all, atReplicas: 0 };
}
