import type { Redis } from 'ioredis';
import type { RedisServer } from './redis-server.js';
import { until } from './until.js';

/** The client of a server for the questions of the test support itself; one for each server. */
export class ControlClients {
  private readonly clients = new Map<RedisServer, Redis>();

  of(server: RedisServer): Redis {
    const known = this.clients.get(server) ?? server.client();
    this.clients.set(server, known);
    return known;
  }

  /** The fields of INFO, or nothing where nobody answers. */
  async info(server: RedisServer, section: string): Promise<Readonly<Record<string, string>>> {
    if (!server.isAnswering) return {};
    const text = await this.of(server)
      .info(section)
      .catch(() => '');
    return fieldsOf(text);
  }
}

/** The lines `name:value` that INFO and CLUSTER INFO answer with. */
export function fieldsOf(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\r\n').filter((line) => line.includes(':'));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  );
}

/**
 * Stops the replicas (SIGSTOP) and closes their connections at the primary: what it is told from now on gets to none of
 * them. A stop alone would not do: they find in their sockets what was sent meanwhile. Resumed replicas of a primary that
 * lives fetch what they missed.
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
