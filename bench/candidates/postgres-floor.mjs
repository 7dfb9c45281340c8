import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { installedVersion } from './installed-version.mjs';

/** What PostgreSQL itself needs: one INSERT to take, one DELETE to give back, both prepared and awaited, nothing else. */
export const name = 'floor: INSERT + DELETE';
export const kind = 'floor';
export const settings = { readme: { lease: '30 s' } };

const TAKE = {
  name: 'take',
  text: 'INSERT INTO floor VALUES ($1, $2, clock_timestamp() + $3::interval) ON CONFLICT DO NOTHING',
};
const GIVE_BACK = { name: 'give-back', text: 'DELETE FROM floor WHERE key = $1 AND owner = $2' };

export async function open(url, { lease }) {
  const client = new pg.Client(url);
  await client.connect();
  const owner = randomUUID();
  let holds = 0;
  return {
    version: `pg ${installedVersion('pg')}`,
    async withLock(key, fn) {
      const value = `${owner}:${++holds}`;
      const { rowCount } = await client.query({ ...TAKE, values: [key, value, lease] });
      if (rowCount !== 1) throw new Error(`${key} is taken`);
      try {
        return await fn();
      } finally {
        await client.query({ ...GIVE_BACK, values: [key, value] });
      }
    },
    close: () => client.end(),
  };
}
