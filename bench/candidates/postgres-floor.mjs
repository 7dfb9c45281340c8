import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { installedVersion } from './installed-version.mjs';

/** The minimum for PostgreSQL: one INSERT acquires, one DELETE releases. Both are prepared and awaited. */
export const name = 'floor: INSERT + DELETE';
export const kind = 'floor';
export const settings = { readme: { lease: '30 s' } };

const ACQUIRE = {
  name: 'acquire',
  text: 'INSERT INTO floor VALUES ($1, $2, clock_timestamp() + $3::interval) ON CONFLICT DO NOTHING',
};
const RELEASE = { name: 'release', text: 'DELETE FROM floor WHERE key = $1 AND owner = $2' };

export async function open(url, { lease }) {
  const client = new pg.Client(url);
  await client.connect();
  const owner = randomUUID();
  let holds = 0;
  return {
    version: `pg ${installedVersion('pg')}`,
    async withLock(key, fn) {
      const value = `${owner}:${++holds}`;
      const { rowCount } = await client.query({ ...ACQUIRE, values: [key, value, lease] });
      if (rowCount !== 1) throw new Error(`${key} is held`);
      try {
        return await fn();
      } finally {
        await client.query({ ...RELEASE, values: [key, value] });
      }
    },
    close: () => client.end(),
  };
}
