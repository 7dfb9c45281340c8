import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Instance } from '../../.scripts/applications/application.mjs';
import { tablesOf } from '../../.scripts/applications/examples.mjs';
import { Example, send } from '../support/example.js';
import type { TestPgClient } from '../support/postgres-server.js';

describe('examples/prisma', () => {
  const example = new Example('prisma', { postgres: true, processes: 0 });
  let apps: readonly Instance[];
  let database: TestPgClient;

  beforeAll(async () => {
    database = await example.database();
    await database.query(tablesOf('prisma')!);
    apps = await Promise.all([example.start(), example.start()]);
  });

  const open = (id: string, capacity: number) => send(apps[0]!, 'PUT', `/courses/${id}`, { capacity });
  const enrol = (index: number, id: string) =>
    send(apps[index % 2]!, 'POST', `/courses/${id}/enrolments`, { student: `student ${String(index)}` });
  const enrolments = async (id: string) =>
    (await database.query('SELECT FROM enrolments WHERE course_id = $1', [id])).rows.length;

  it('enrols as many students as there is room for, whichever process a request comes to', async () => {
    await open('go', 5);
    const answers = await Promise.all(Array.from({ length: 16 }, (_, index) => enrol(index, 'go')));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(11);
    expect(await enrolments('go')).toBe(5);
  });

  it('rolls the transaction back if a newer holder has left its token', async () => {
    await open('rust', 5);
    await database.query("UPDATE courses SET lock_token = $1 WHERE id = 'rust'", [Number.MAX_SAFE_INTEGER]);
    expect(await enrol(0, 'rust')).toMatchObject({ status: 503 });
    expect(await enrolments('rust')).toBe(0);
  });

  it('uses no database connection while requests wait for the lock', async () => {
    await open('busy', 20);
    await open('free', 1);
    const held = await example.locks.acquire('course:busy');
    // More than the connections of the pool, which has 10.
    const waiting = Array.from({ length: 20 }, () => enrol(0, 'busy'));
    expect(await enrol(0, 'free')).toMatchObject({ status: 201, body: { left: 0 } });
    await held.release();
    const answers = await Promise.all(waiting);
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 201));
  });
});
