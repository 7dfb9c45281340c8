import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Scope, type CanActivate } from '@nestjs/common';
import type { LockDashboardOptions } from '../../../lib/dashboard/index.js';
import { MemoryLockStore } from '../../../lib/index.js';
import type { LockStore, LockStoreClient, LockStoreSession } from '../../../lib/stores/port/index.js';
import { until } from '../../support/until.js';
import { OpsPages } from './ops-page.js';

/** Handles requests sequentially, like a connection, and records how many are ahead of a lock request. */
class OneAfterTheOther implements LockStore {
  readonly name = 'one after the other';
  /** The number of requests ahead of each attempt and each renewal. */
  readonly before: { readonly asks: number[]; readonly renewals: number[] } = { asks: [], renewals: [] };
  lists = 0;
  inspections = 0;
  private readonly memory = new MemoryLockStore();
  private waiting = 0;
  private last: Promise<unknown> = Promise.resolve();

  open(client: LockStoreClient): LockStoreSession {
    const session = this.memory.open(client);
    const { acquire, renew, inspect, listKeys } = session;
    session.acquire = (request) => this.inTurn(() => acquire.call(session, request), this.before.asks);
    session.renew = (requests) => this.inTurn(() => renew.call(session, requests), this.before.renewals);
    session.inspect = (key) => {
      this.inspections += 1;
      return this.inTurn(() => inspect.call(session, key));
    };
    session.listKeys = async (request) => {
      this.lists += 1;
      return await this.inTurn(
        async () => (await listKeys?.call(session, request)) ?? { keys: [], cursor: undefined },
      );
    };
    return session;
  }

  private async inTurn<T>(request: () => PromiseLike<T>, noted?: number[]): Promise<T> {
    noted?.push(this.waiting);
    this.waiting += 1;
    const before = this.last;
    const turn = (async () => {
      await before.catch(() => undefined);
      await new Promise(setImmediate);
      this.waiting -= 1;
      return await request();
    })();
    this.last = turn;
    return await turn;
  }
}

/** With such a guard, Nest creates the controller anew for each request. */
@Injectable({ scope: Scope.REQUEST })
class GuardOfRequest implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

describe('F56: visitors of the page', () => {
  const pages = new OpsPages();
  afterEach(() => pages.close());

  const start = async (holds: number, guards: readonly (typeof GuardOfRequest)[] = []) => {
    const store = new OneAfterTheOther();
    const dashboard: LockDashboardOptions = guards.length > 0 ? { guards } : { access: 'open' };
    const page = await pages.start({ locks: { store, shutdownTimeout: 0 }, dashboard });
    await Promise.all(
      Array.from({ length: holds }, (_, index) => page.app.locks.acquire(`held:${String(index)}`)),
    );
    store.before.asks.length = store.before.renewals.length = 0;
    return { store, page };
  };

  it.each([
    ['without guards', []],
    ['with a guard for each request', [GuardOfRequest]],
  ])(
    'delay renewals and attempts by few requests, even with a thousand lists and locks, %s',
    async (_, guards) => {
      const { store, page } = await start(200, guards);
      const statuses = new Set<string>();
      const visit = { isOver: false };
      // As many requests at once as fit into the server's backlog.
      const visitors = Promise.all(
        Array.from({ length: 100 }, async (_, visitor) => {
          for (let number = visitor; number < 1_000; number += 100) {
            const what =
              number % 2 === 0
                ? `list&match=${'*'.repeat(1 + (number % 100))}`
                : `lock&key=held:${String(number)}`;
            const { status, headers } = await page.get(`?data=${what}`);
            statuses.add([status, headers.get('retry-after')].join());
          }
        }),
      ).finally(() => (visit.isOver = true));
      await until('a list is under way', () => store.lists > 0);
      const mine = await page.app.locks.acquire('mine');
      while (!visit.isOver) await mine.extend(60_000);
      await visitors;
      // One list with its 16 inspections, 8 inspected locks, the snapshots of the page, and other locks.
      expect(Math.max(...store.before.renewals, ...store.before.asks)).toBeLessThan(32);
      expect(store.before.renewals.length).toBeGreaterThan(10);
      expect(store.before.asks).toHaveLength(1);
      expect(statuses).toEqual(new Set(['200,', '429,1']));
      expect(page.app.admin.status()).toMatchObject({ holds: 201, recentLosses: 0 });
    },
  );

  it('share the response to the same request', async () => {
    const { store, page } = await start(50);
    const before = store.inspections;
    const answers = await Promise.all(Array.from({ length: 20 }, () => page.get('?data=list')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(answers.every(({ body }) => (body as { locks: unknown[] }).locks.length === 50)).toBe(true);
    expect(store.lists).toBeLessThan(20);
    expect(store.inspections - before).toBe(store.lists * 50);
  });
});
