import pg from 'pg';
import { installedVersion } from './installed-version.mjs';

/**
 * The lock that users usually write by hand: an advisory lock of the session, which needs a connection for each holder and
 * each waiter. It has no lease, no fencing token and no wait time-out. `tuned` has a connection for every caller.
 */
export const name = 'pg_advisory_lock';
export const kind = 'peer';
export const settings = { readme: { max: 10 }, tuned: { max: 100 } };
export const labels = { readme: `${name}, pool of 10`, tuned: `${name}, pool of 100` };

const ACQUIRE = { name: 'acquire', text: 'SELECT pg_advisory_lock(hashtextextended($1, 0))' };
const RELEASE = { name: 'release', text: 'SELECT pg_advisory_unlock(hashtextextended($1, 0))' };

export async function open(url, { max }) {
  const pool = new pg.Pool({ connectionString: url, max });
  return {
    version: `pg ${installedVersion('pg')}`,
    async withLock(key, fn) {
      const client = await pool.connect();
      try {
        await client.query({ ...ACQUIRE, values: [key] });
        try {
          return await fn();
        } finally {
          await client.query({ ...RELEASE, values: [key] });
        }
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}
