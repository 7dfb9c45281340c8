import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Instance } from '../../.scripts/applications/application.mjs';
import { Example, send } from '../support/example.js';
import type { TestPgClient } from '../support/postgres-server.js';
import { until } from '../support/until.js';

describe('examples/typeorm', () => {
  const example = new Example('typeorm', { postgres: true, processes: 0 });
  let apps: readonly Instance[];
  let database: TestPgClient;

  beforeAll(async () => {
    // One after the other, since each creates tables that are missing.
    apps = [await example.start(), await example.start()];
    database = await example.database();
  });

  const open = (id: string, balance: number) => send(apps[0]!, 'PUT', `/accounts/${id}`, { balance });
  const withdraw = (app: Instance, id: string, amount: number) =>
    send(app, 'POST', `/accounts/${id}/withdrawals`, { amount });
  const stateOf = async (id: string) => {
    const { rows } = await database.query(
      `SELECT balance, (SELECT count(*)::int FROM withdrawals WHERE account = accounts.id) AS withdrawals
       FROM accounts WHERE id = $1`,
      [id],
    );
    return rows[0];
  };

  it('pays out no more than there is, whichever process a request comes to', async () => {
    await open('ann', 50);
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) => withdraw(apps[index % 2]!, 'ann', 10)),
    );
    const paid = answers.filter(({ status }) => status === 201);
    expect(paid.map(({ body }) => (body as { balance: number }).balance).sort((a, b) => a - b)).toEqual([
      0, 10, 20, 30, 40,
    ]);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(11);
    expect(await stateOf('ann')).toEqual({ balance: 0, withdrawals: 5 });
  });

  it('answers 404 for an account that does not exist', async () => {
    expect(await withdraw(apps[0]!, 'nobody', 10)).toMatchObject({ status: 404 });
  });

  it('holds the lock until the transaction has been committed', async () => {
    await open('cid', 50);
    // A commit waits for this advisory lock, which the test has.
    await database.query(`
      CREATE FUNCTION wait_to_commit() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER wait_to_commit AFTER INSERT ON withdrawals
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_to_commit();
      SELECT pg_advisory_lock(1);
    `);
    const first = withdraw(apps[0]!, 'cid', 50);
    await until('the commit has begun', async () => {
      const waiting = await database.query(
        "SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND NOT granted",
      );
      return waiting.rows.length > 0;
    });
    const second = withdraw(apps[1]!, 'cid', 50);
    const held = await database.query("SELECT FROM distributed_lock.holds WHERE key = 'account:cid'");
    await database.query('SELECT pg_advisory_unlock(1); DROP FUNCTION wait_to_commit CASCADE');
    expect(held.rows).toHaveLength(1);
    expect([(await first).status, (await second).status]).toEqual([201, 409]);
  });

  it('lets the database reject the write of a process that stood still until another one had the lock', async () => {
    await open('bob', 50);
    const slow = await example.start({ FRAUD_CHECK_MS: '500' });
    const stale = withdraw(slow, 'bob', 20);
    await until('it has read the account', async () => {
      const { rows } = await database.query("SELECT FROM accounts WHERE id = 'bob' AND lock_token > 0");
      return rows.length > 0;
    });
    slow.child.kill('SIGSTOP');
    // Waits until the lease of the other process has ended, 3 s at most.
    expect(await withdraw(apps[0]!, 'bob', 20)).toMatchObject({ status: 201, body: { balance: 30 } });
    slow.child.kill('SIGCONT');
    expect(await stale).toMatchObject({
      status: 503,
      body: { message: 'A newer request works on this account' },
    });
    expect(await stateOf('bob')).toEqual({ balance: 30, withdrawals: 1 });
  });
});
