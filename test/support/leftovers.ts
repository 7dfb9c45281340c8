import type { Cluster, Redis } from 'ioredis';

/** What holds or queues in the server. Tombstones stay for a while, and the fencing counter, a plain string, for good. */
export async function leftoversOf(client: Redis | Cluster): Promise<string[]> {
  const keys = (await client.keys('*')).filter((key) => !key.includes('@:gone:'));
  const types = await Promise.all(keys.map((key) => client.type(key)));
  return keys.filter((_, index) => types[index] !== 'string' && types[index] !== 'none');
}
