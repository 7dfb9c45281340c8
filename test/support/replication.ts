import type { Redis } from 'ioredis';
import type { RedisServer } from './redis-server.js';
import { until } from './until.js';

/** One client for each server, for queries of the test support. */
export class ControlClients {
  private readonly clients = new Map<RedisServer, Redis>();

  of(server: RedisServer): Redis {
    const known = this.clients.get(server) ?? server.client();
    this.clients.set(server, known);
    return known;
  }

  /** The fields of INFO; empty if the server does not reply. */
  async info(server: RedisServer, section: string): Promise<Readonly<Record<string, string>>> {
    if (!server.isAnswering) return {};
    const text = await this.of(server)
      .info(section)
      .catch(() => '');
    return fieldsOf(text);
  }
}

/** Parses the lines `name:value` of INFO and CLUSTER INFO. */
export function fieldsOf(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\r\n').filter((line) => line.includes(':'));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  );
}

/**
 * Stops the replicas (SIGSTOP) and closes their connections at the primary, so that later writes reach none of them.
 * Without closing them, the replicas would find the writes in their sockets. Resumed replicas of a live primary catch
 * up.
 */
export async function cutReplication(
  control: Redis,
  primary: RedisServer,
  replicas: readonly RedisServer[],
): Promise<void> {
  for (const replica of replicas) replica.stop();
  await control.call('CLIENT', 'KILL', 'TYPE', 'replica');
  await until(`${primary.url} has no replicas`, async () => {
    const [, , connected] = (await control.call('ROLE')) as [string, number, unknown[]];
    return connected.length === 0;
  });
}
