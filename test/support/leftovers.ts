import type { Cluster, Redis } from 'ioredis';

/**
 * The locks and queues on the server: their names with contents and remaining time, for the message of a failing test.
 * Tombstones, which expire later, and the token counter, a plain string, are left out.
 */
export async function leftoversOf(client: Redis | Cluster): Promise<string[]> {
  const keys = (await client.keys('*')).filter((key) => !key.includes('@:gone:'));
  const types = await Promise.all(keys.map((key) => client.type(key)));
  const left = keys.filter((_, index) => types[index] !== 'string' && types[index] !== 'none');
  return await Promise.all(left.map((key) => described(client, key)));
}

async function described(client: Redis | Cluster, key: string): Promise<string> {
  const [ttl, fields, entries] = await Promise.all([
    client.pttl(key),
    client.hgetall(key).catch(() => undefined),
    client.zrange(key, '0', '-1', 'WITHSCORES').catch(() => undefined),
  ]);
  return `${key} (${ttl} ms left) ${JSON.stringify(fields ?? entries)}`;
}
