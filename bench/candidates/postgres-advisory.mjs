import pg from 'pg';
import { installedVersion } from './installed-version.mjs';

/**
 * The lock that is usually written by hand: a session's advisory lock, which takes a connection for each holder and each
 * waiter. It has no lease, no token and no time to wait; `tuned` has a connection for every caller.
 */
export const name = 'pg_advisory_lock';
export const kind = 'peer';
export const settings = { readme: { max: 10 }, tuned: { max: 100 } };
export const labels = { readme: `${name}, pool of 10`, tuned: `${name}, pool of 100` };

const TAKE = { name: 'take', text: 'SELECT pg_advisory_lock(hashtextextended($1, 0))' };
const GIVE_BACK = { name: 'give-back', text: 'SELECT pg_advisory_unlock(hashtextextended($1, 0))' };

export async function open(url, { max }) {
  const pool = new pg.Pool({ connectionString: url, max });
  return {
    version: `pg ${installedVersion('pg')}`,
    async withLock(key, fn) {
      const client = await pool.connect();
      try {
        await client.query({ ...TAKE, values: [key] });
        try {
          return await fn();
        } finally {
          await client.query({ ...GIVE_BACK, values: [key] });
        }
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}
