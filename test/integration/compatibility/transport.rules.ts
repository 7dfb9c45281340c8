import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { LockService } from '../../../lib/index.js';
import { until } from '../../support/until.js';
import { KEY, type Receipt, type Stock } from './stock.js';

/** One application with locked handlers, as its clients see it. */
export interface Client {
  readonly locks: LockService;
  readonly stock: Stock;
  /** Waits for the lock and buys. */
  take(buyer: string): Promise<Receipt>;
  /** Buys if the lock is free, and resolves to whatever the client is told. */
  hurry(buyer: string): Promise<unknown>;
  /** A locked handler that fails, and whatever the client is told. */
  fail(): Promise<unknown>;
  close(): Promise<void>;
}

/** One whose handlers Nest calls through its pipeline of guards, interceptors and pipes. */
export interface PipelineClient extends Client {
  /** A locked handler with a guard, an interceptor, a pipe and metadata, above or below `@Locked`. */
  decorated(where: 'above' | 'below', buyer: string): Promise<unknown>;
  /** The same with a guard that says no. */
  denied(where: 'above' | 'below'): Promise<unknown>;
}

/** What clients of one kind of application are told. */
export interface Answers {
  readonly sold: unknown;
  readonly busy: unknown;
  readonly failed: unknown;
}

export interface PipelineAnswers extends Answers {
  readonly decorated: unknown;
  readonly denied: unknown;
}

export const BUYERS = Array.from({ length: 10 }, (_, index) => `buyer-${index}`);

/** All buy at once: one at a time, each with a receipt of his own, nobody lost, the lock free in the end. */
export async function expectOrderlySale(
  { locks, stock }: Pick<Client, 'locks' | 'stock'>,
  take: (buyer: string) => Promise<Receipt>,
): Promise<void> {
  const receipts = await Promise.all(BUYERS.map(take));
  expect(stock.inside.most).toBe(1);
  expect(receipts.map(({ buyer }) => buyer)).toEqual(BUYERS);
  expect(receipts.map(({ left }) => left).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(receipts.filter(({ locked }) => !locked)).toEqual([]);
  // At once, but for a machine that had no time to spare, where it was seen to take a moment.
  await until('the lock is free', async () => !(await locks.isLocked(KEY)));
}

/** What `@Locked` promises wherever its method is called from. */
export function transportRules(start: () => Promise<Client>, answers: Answers): void {
  let client: Client;
  beforeEach(async () => {
    client = await start();
  });
  afterEach(() => client.close());

  it('B30: ten calls at once run one at a time, and each gets its own result', async () => {
    await expectOrderlySale(client, (buyer) => client.take(buyer));
  });

  it('B36, B41: a busy lock is told in the way of the transport, and the handler is not called', async () => {
    await using holder = await client.locks.acquire(KEY);
    expect(await client.hurry('ann')).toEqual(answers.busy);
    expect(client.stock.left).toBe(10);
    expect(await client.locks.inspect(KEY)).toMatchObject({ waiting: 0 });
    await holder.release();
    expect(await client.hurry('bob')).toEqual(answers.sold);
    expect(client.stock.left).toBe(9);
  });

  it('B35: an error of the handler passes as it is, and the lock is free', async () => {
    expect(await client.fail()).toEqual(answers.failed);
    expect(await client.locks.isLocked(KEY)).toBe(false);
  });
}

/** What it promises beside that where Nest has a pipeline. */
export function pipelineRules(start: () => Promise<PipelineClient>, answers: PipelineAnswers): void {
  transportRules(start, answers);

  describe('among other decorators', () => {
    let client: PipelineClient;
    beforeEach(async () => {
      client = await start();
    });
    afterEach(() => client.close());

    it.each(['above', 'below'] as const)(
      'B32: guard, interceptor, pipe and metadata %s @Locked work',
      async (where) => {
        expect(await client.decorated(where, 'bob')).toEqual(answers.decorated);
        const types: string[] = [];
        client.locks.events.subscribe(({ type }) => types.push(type));
        expect(await client.denied(where)).toEqual(answers.denied);
        expect(types).toEqual([]);
      },
    );
  });
}
