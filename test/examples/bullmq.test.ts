import { describe, expect, it } from '@jest/globals';
import { Queue } from 'bullmq';
import { Example, send } from '../support/example.js';
import { until } from '../support/until.js';

/** A job as the example shows it. */
interface Summary {
  readonly state: string;
  readonly attemptsMade: number;
  readonly failedReason?: string;
  readonly returnvalue: { readonly startedAt: number; readonly endedAt: number };
}

describe('examples/bullmq', () => {
  const example = new Example('bullmq', { processes: 2 });
  const { apps } = example;

  const add = async (queue: string, customer: string, app = 0): Promise<string> =>
    ((await send(apps[app]!, 'POST', `/${queue}`, { customer })).body as { id: string }).id;
  const jobIn = async (state: string, queue: string, id: string): Promise<Summary> =>
    await until(
      `job ${id} of ${queue} is ${state}`,
      async () => {
        const job = (await send(apps[0]!, 'GET', `/${queue}/${id}`)).body as Summary;
        return job.state === state ? job : undefined;
      },
      { deadline: 60_000, every: 50 },
    );

  it('retries a job with attempts that does not get its lock', async () => {
    const held = await example.locks.acquire('customer:ann');
    const id = await add('invoices', 'ann');
    const failed = await until(
      'an attempt has failed',
      async () => {
        const job = await jobIn('delayed', 'invoices', id);
        return job.attemptsMade > 0 && job;
      },
      { deadline: 60_000 },
    );
    expect(failed.failedReason).toContain('customer:ann');
    await held.release();
    expect((await jobIn('completed', 'invoices', id)).attemptsMade).toBeGreaterThan(1);
  });

  it('puts a job back that does not get its lock, without counting an attempt', async () => {
    const held = await example.locks.acquire('customer:bob');
    const id = await add('reminders', 'bob');
    expect(await jobIn('delayed', 'reminders', id)).toMatchObject({ attemptsMade: 0 });
    await held.release();
    expect(await jobIn('completed', 'reminders', id)).toMatchObject({ attemptsMade: 1 });
  });

  it('loses a job that has neither: BullMQ fails it for good', async () => {
    await using _held = await example.locks.acquire('customer:cid');
    const { host, port } = example.redis;
    const invoices = new Queue('invoices', { connection: { host, port } });
    try {
      const { id } = await invoices.add('send', { customer: 'cid' });
      const failed = await jobIn('failed', 'invoices', id!);
      expect(failed.failedReason).toContain('customer:cid');
    } finally {
      await invoices.close();
    }
  });

  it('sends one document of a customer at a time, from all processes and both queues', async () => {
    const queues = ['invoices', 'reminders'];
    const sent = await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        const queue = queues[index % 2]!;
        const id = await add(queue, 'dan', Math.floor(index / 2) % 2);
        return (await jobIn('completed', queue, id)).returnvalue;
      }),
    );
    sent.sort((one, other) => one.startedAt - other.startedAt);
    for (const [index, { startedAt }] of sent.entries()) {
      if (index > 0) expect(startedAt).toBeGreaterThanOrEqual(sent[index - 1]!.endedAt);
    }
  });
});
