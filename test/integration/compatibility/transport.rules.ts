import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { LockAdmin, LockService } from '../../../lib/index.js';
import { until } from '../../support/until.js';
import { Gate } from '../nest/gate.js';
import { KEY, type Receipt, type Stock } from './stock.js';

/** A client of an application with locked handlers. */
export interface Client {
  readonly locks: LockService;
  readonly admin: LockAdmin;
  readonly stock: Stock;
  /** Waits for the lock and buys. */
  take(buyer: string): Promise<Receipt>;
  /** Buys if the lock is free; resolves to the client's reply or error. */
  hurry(buyer: string): Promise<unknown>;
  /** Calls a locked handler that fails; resolves to the client's error. */
  fail(): Promise<unknown>;
  close(): Promise<void>;
}

/** A client of handlers that Nest calls through its pipeline of guards, interceptors and pipes. */
export interface PipelineClient extends Client {
  /** A locked handler with a guard, an interceptor, a pipe and metadata, above or below `@Locked`. */
  decorated(where: 'above' | 'below', buyer: string): Promise<unknown>;
  /** The same with a guard that denies the call. */
  denied(where: 'above' | 'below'): Promise<unknown>;
  /** A locked handler behind an interceptor that ends the call after 50 ms; resolves to the client's error. */
  impatient(buyer: string): Promise<unknown>;
}

/** The expected replies and errors of one transport. */
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

/** All buy at once. Expects one purchase at a time, one receipt for each buyer, no lost update and a free lock. */
export async function expectOrderlySale(
  { locks, stock }: Pick<Client, 'locks' | 'stock'>,
  take: (buyer: string) => Promise<Receipt>,
): Promise<void> {
  const receipts = await Promise.all(BUYERS.map(take));
  expect(stock.inside.most).toBe(1);
  expect(receipts.map(({ buyer }) => buyer)).toEqual(BUYERS);
  expect(receipts.map(({ left }) => left).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(receipts.filter(({ locked }) => !locked)).toEqual([]);
  // Usually at once; a busy machine may need a moment.
  await until('the lock is free', async () => !(await locks.isLocked(KEY)));
}

/** The promises of `@Locked` on every transport. */
export function transportRules(start: () => Promise<Client>, answers: Answers): void {
  let client: Client;
  beforeEach(async () => {
    client = await start();
  });
  afterEach(() => client.close());

  it('B30: ten calls at once run one at a time, and each gets its own result', async () => {
    await expectOrderlySale(client, (buyer) => client.take(buyer));
  });

  it('B36, B41: a busy lock is reported in the form of the transport, and the handler is not called', async () => {
    await using holder = await client.locks.acquire(KEY);
    expect(await client.hurry('ann')).toEqual(answers.busy);
    expect(client.stock.left).toBe(10);
    expect(await client.admin.inspect(KEY)).toMatchObject({ waiting: 0 });
    await holder.release();
    expect(await client.hurry('bob')).toEqual(answers.sold);
    expect(client.stock.left).toBe(9);
  });

  it('B35: an error of the handler passes unchanged, and the lock is free', async () => {
    expect(await client.fail()).toEqual(answers.failed);
    expect(await client.locks.isLocked(KEY)).toBe(false);
  });
}

/** Additional promises on transports with a pipeline. */
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

    const isFree = () => until('the lock is free', async () => !(await client.locks.isLocked(KEY)));

    it('F60: a call that its time limit ends leaves the queue at once, and its handler never runs', async () => {
      const holder = await client.locks.acquire(KEY);
      expect(JSON.stringify(await client.impatient('ann'))).toMatch(/Request Timeout|Internal server error/);
      await until('no call waits', () => client.admin.waiting().length === 0);
      await holder.release();
      await isFree();
      expect(client.stock.left).toBe(10);
    });

    it('F60: work outlives the time limit of its call under its lock, and does not delay the reply', async () => {
      const gate = new Gate();
      client.stock.slowly = gate;
      expect(JSON.stringify(await client.impatient('ann'))).toMatch(/Request Timeout|Internal server error/);
      expect(await client.locks.isLocked(KEY)).toBe(true);
      expect(client.stock.left).toBe(10);
      gate.open();
      await isFree();
      expect(client.stock.left).toBe(9);
    });
  });
}
