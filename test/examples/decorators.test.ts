import { describe, expect, it } from '@jest/globals';
import { Example, scriptsOf, send } from '../support/example.js';
import { until } from '../support/until.js';

describe('examples/decorators', () => {
  const example = new Example('decorators');

  const build = (report: string, tenant: string) =>
    send(example.app, 'POST', `/reports/${report}`, undefined, { 'x-tenant': tenant });
  const approve = (report: string, user: string) =>
    send(example.app, 'POST', `/reports/${report}/approvals`, undefined, { 'x-user': user });
  const cleanUps = async () =>
    ((await send(example.app, 'GET', '/reports/clean-ups')).body as { cleanUps: number }).cleanUps;

  it('@LockedByTenant locks a report for one tenant, and not for others', async () => {
    await using _held = await example.locks.acquire('tenant:blue:report:sales');
    expect((await build('sales', 'blue')).status).toBe(423);
    expect((await build('sales', 'green')).status).toBe(201);
  });

  it('a key function of a handler uses any part of the request', async () => {
    await using _held = await example.locks.acquire('approval:ada:sales');
    expect((await approve('sales', 'ada')).status).toBe(423);
    expect((await approve('sales', 'bo')).status).toBe(201);
  });

  it('@LockedCron skips the job while another process holds its lock, and runs it otherwise', async () => {
    await until('the job has run', cleanUps);
    const held = await example.locks.acquire('cron:clean-up', { waitTime: 10_000 });
    const [runs, scripts] = [await cleanUps(), await scriptsOf(example.redis)];
    // Each attempt asks the store once.
    await until('the job was due twice', async () => (await scriptsOf(example.redis)) >= scripts + 2);
    expect(await cleanUps()).toBe(runs);
    await held.release();
    await until('the job has run again', async () => (await cleanUps()) > runs);
  });
});
