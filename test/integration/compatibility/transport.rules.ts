import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { LockAdmin, LockService } from '../../../lib/index.js';
import { until } from '../../support/until.js';
import { Gate } from '../nest/gate.js';
import type { HttpApp } from '../nest/http-app.js';
import type { HandlerName } from './orders.js';
import { KEY, Stock, type Receipt } from './stock.js';

/** A client of an application with locked handlers. */
export interface Client<Name = 'hurry' | 'fail'> {
  readonly locks: LockService;
  readonly admin: LockAdmin;
  readonly stock: Stock;
  /** Waits for the lock and buys. */
  take(buyer: string): Promise<Receipt>;
  /**
   * Calls a handler; resolves to the client's reply or error. `hurry` buys if the lock is free, and `fail` throws.
   *
   * With a pipeline of guards, interceptors and pipes: `above` and `below` are handlers with a guard, an interceptor, a
   * pipe and metadata above or below `@Locked`; the guard denies those of `denied…`; an interceptor ends the call of
   * `impatient` after 50 ms.
   */
  call(handler: Name, buyer: string): Promise<unknown>;
  close(): Promise<void>;
}

/** What every client of an application has. */
export const clientOf = (app: HttpApp): Pick<Client, 'locks' | 'admin' | 'stock' | 'close'> => ({
  locks: app.locks,
  admin: app.admin,
  stock: app.nest.get(Stock, { strict: false }),
  close: () => app.close(),
});

/** The expected replies and errors of one transport. */
export interface Answers {
  readonly sold: unknown;
  readonly busy: unknown;
  readonly failed: unknown;
}

export interface PipelineAnswers extends Answers {
  /** For a full queue. */
  readonly crowded: unknown;
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

/** Errors as clients receive them: with a remedy, and without the key. */
export const BUSY = {
  message: 'The resource is in use by another request. Try again later.',
  code: 'LOCK_TIMEOUT',
};
export const CROWDED = {
  message: 'Too many requests wait for the resource. Try again later.',
  code: 'LOCK_QUEUE_FULL',
};

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
    expect(await client.call('hurry', 'ann')).toEqual(answers.busy);
    expect(client.stock.left).toBe(10);
    expect(await client.admin.inspect(KEY)).toMatchObject({ waiting: 0 });
    await holder.release();
    expect(await client.call('hurry', 'bob')).toEqual(answers.sold);
    expect(client.stock.left).toBe(9);
  });

  it('B35: an error of the handler passes unchanged, and the lock is free', async () => {
    expect(await client.call('fail', 'ann')).toEqual(answers.failed);
    expect(await client.locks.isLocked(KEY)).toBe(false);
  });
}

/** Additional promises on transports with a pipeline. */
export function pipelineRules(start: () => Promise<Client<HandlerName>>, answers: PipelineAnswers): void {
  transportRules(start, answers);

  describe('among other decorators', () => {
    let client: Client<HandlerName>;
    beforeEach(async () => {
      client = await start();
    });
    afterEach(() => client.close());

    it.each(['above', 'below'] as const)(
      'B32: guard, interceptor, pipe and metadata %s @Locked work',
      async (where) => {
        expect(await client.call(where, 'bob')).toEqual(answers.decorated);
        const types: string[] = [];
        client.locks.events.subscribe(({ type }) => types.push(type));
        expect(await client.call(`denied${where}`, 'ann')).toEqual(answers.denied);
        expect(types).toEqual([]);
      },
    );

    it('B41: a full queue is reported in the form of the transport, and the handler is not called', async () => {
      await using _holder = await client.locks.acquire(KEY);
      expect(await client.call('crowd', 'ann')).toEqual(answers.crowded);
      expect(client.stock.left).toBe(10);
    });

    const isFree = () => until('the lock is free', async () => !(await client.locks.isLocked(KEY)));

    it('F60: a call that its time limit ends leaves the queue at once, and its handler never runs', async () => {
      const holder = await client.locks.acquire(KEY);
      expect(JSON.stringify(await client.call('impatient', 'ann'))).toMatch(
        /Request Timeout|Internal server error/,
      );
      await until('no call waits', () => client.admin.waiting().length === 0);
      await holder.release();
      await isFree();
      expect(client.stock.left).toBe(10);
    });

    it('F60: work outlives the time limit of its call under its lock, and does not delay the reply', async () => {
      const gate = new Gate();
      client.stock.slowly = gate;
      expect(JSON.stringify(await client.call('impatient', 'ann'))).toMatch(
        /Request Timeout|Internal server error/,
      );
      expect(await client.locks.isLocked(KEY)).toBe(true);
      expect(client.stock.left).toBe(10);
      gate.open();
      await isFree();
      expect(client.stock.left).toBe(9);
    });
  });
}
