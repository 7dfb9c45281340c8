import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Instance } from '../../.scripts/applications/application.mjs';
import { Example, send, type Reply } from '../support/example.js';
import { until } from '../support/until.js';

const ORDER = { account: 'ann', amount: 100 };

describe('examples/payment', () => {
  // The first process is also the provider.
  const example = new Example('payment', { postgres: true });
  const startApp = () => example.start({ PROVIDER_URL: `${example.app.url}/charges` });
  let apps: readonly Instance[];

  beforeAll(async () => {
    // One after the other, since each creates the table if it is missing.
    apps = [await startApp(), await startApp()];
  });

  const pay = (app: Instance, key: string, order: object = ORDER): Promise<Reply> =>
    send(app, 'POST', '/payments', order, { 'idempotency-key': key });
  const charges = async () =>
    (await send(example.app, 'GET', '/charges')).body as { readonly id: string; readonly calls: number }[];
  const chargeOf = async ({ body }: Reply) =>
    (await charges()).find(({ id }) => id === (body as { charge: string }).charge);

  it('gives requests with the same key the same answer, and calls the provider once', async () => {
    const key = randomUUID();
    const together = await Promise.all([0, 1, 0, 1].map((index) => pay(apps[index]!, key)));
    const later = await pay(apps[1]!, key);
    const [first] = together;
    for (const answer of [...together, later]) {
      expect([answer.status, answer.body]).toEqual([201, first!.body]);
    }
    expect(await chargeOf(first!)).toMatchObject({ calls: 1 });
  });

  it('charges again for another key', async () => {
    const [one, other] = await Promise.all(apps.map((app) => pay(app, randomUUID())));
    expect(one!.body).not.toEqual(other!.body);
  });

  it('answers 422 if the key belongs to another payment, and 400 without a key', async () => {
    const key = randomUUID();
    expect(await pay(apps[0]!, key)).toMatchObject({ status: 201 });
    expect(await pay(apps[1]!, key, { ...ORDER, amount: 200 })).toMatchObject({ status: 422 });
    expect(await send(apps[0]!, 'POST', '/payments', ORDER)).toMatchObject({ status: 400 });
  });

  it('completes a payment whose process was killed between the charge and its record, without a second charge', async () => {
    const before = (await charges()).length;
    const mortal = await startApp();
    const key = randomUUID();
    const unanswered = pay(mortal, key).catch(() => 'no answer');
    await until('the provider has charged', async () => (await charges()).length > before);
    mortal.child.kill('SIGKILL');
    expect(await unanswered).toBe('no answer');

    const repeated = await pay(apps[0]!, key);
    expect(repeated).toMatchObject({ status: 201 });
    expect(await chargeOf(repeated)).toMatchObject({ calls: 2 });
    expect(await charges()).toHaveLength(before + 1);
  });
});
