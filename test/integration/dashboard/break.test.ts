import { afterEach, describe, expect, it } from '@jest/globals';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  MemoryLockStore,
  type LockEvent,
  type LockHandle,
  type LockOptions,
  type LockStore,
} from '../../../lib/index.js';
import { until } from '../../support/until.js';
import type { LockDashboardOptions } from '../../../lib/dashboard/index.js';
import { OpsPages } from './ops-page.js';

/** Lets everybody pass, as somebody. */
class SignedIn implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ user?: unknown }>();
    request.user = { username: 'alice' };
    return true;
  }
}

describe('O21: locks that are broken on the page', () => {
  const pages = new OpsPages();
  afterEach(() => pages.close());
  const allowed: LockDashboardOptions = { access: 'open', allowBreak: true, hosts: ['127.0.0.1'] };

  it('are none unless that is allowed', async () => {
    const page = await pages.start();
    const hold = await page.app.locks.acquire('a');
    const { status, text } = await page.break({ key: 'a', instance: null, token: hold.token });
    expect(status).toBe(403);
    expect(text).toContain('allowBreak: true');
    expect(hold.isHeld).toBe(true);
    expect((await page.overview()).allowBreak).toBe(false);
  });

  it.each([
    ['Express', undefined],
    ['Fastify', new FastifyAdapter()],
  ])('go to the next in line, and log and event say who did it (%s)', async (_, adapter) => {
    const page = await pages.start({
      dashboard: { guards: [SignedIn], allowBreak: true },
      ...(adapter && { adapter }),
    });
    const { locks, log } = page.app;
    const events: LockEvent[] = [];
    locks.events.subscribe((event) => events.push(event));
    const hold = await locks.acquire('stuck\r\n', { label: 'nightly' });
    const next = locks.acquire('stuck\r\n', { waitTime: 60_000 });
    const { status, body } = await page.break({ key: 'stuck\r\n', instance: null, token: hold.token });
    expect([status, body]).toEqual([200, { broken: true }]);
    const following = await next;
    expect(following.token).toBeGreaterThan(hold.token);
    expect(hold.isHeld).toBe(false);
    expect(events.filter(({ type }) => type === 'broken')).toMatchObject([
      { key: 'stuck\r\n', by: expect.stringMatching(/^alice \(.*127\.0\.0\.1\)$/) },
    ]);
    expect(log.matching('was broken by force, by "alice')).toEqual([
      expect.stringContaining('"stuck\\r\\n"'),
    ]);
    await following.release();
  });

  it('are told by the name that the application gives, where it says how', async () => {
    const user = (request: unknown): string =>
      (request as { headers: Record<string, string> }).headers['x-who'] ?? '';
    const page = await pages.start({ dashboard: { ...allowed, user } });
    const broken = page.app.next('broken', 'a');
    const { token } = await page.app.locks.acquire('a');
    await page.break(
      { key: 'a', instance: null, token },
      { 'sec-fetch-site': 'same-origin', 'x-who': 'bob' },
    );
    expect(await broken).toMatchObject({ by: expect.stringMatching(/^bob \(/) });
  });

  it.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host of the site', { 'sec-fetch-site': 'same-site' }],
    ['the address bar', { 'sec-fetch-site': 'none' }],
    ['an old browser on another site', { origin: 'https://evil.example' }],
    ['no origin', { origin: 'null' }],
    ['no page', {}],
  ])('are not asked for by %s', async (_, headers: Record<string, string>) => {
    const page = await pages.start({ dashboard: allowed });
    const hold = await page.app.locks.acquire('a');
    const { status } = await page.break({ key: 'a', instance: null, token: hold.token }, headers);
    expect(status).toBe(403);
    expect(hold.isHeld).toBe(true);
  });

  it('may be asked for by the page without TLS, where browsers say only its origin', async () => {
    const page = await pages.start({ dashboard: allowed });
    const { token } = await page.app.locks.acquire('a');
    const origin = page.app.url('/').origin;
    expect((await page.break({ key: 'a', instance: null, token }, { origin })).status).toBe(200);
  });

  it('are not asked for by a form', async () => {
    const page = await pages.start({ dashboard: allowed });
    const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'text/plain' };
    expect((await page.break({ key: 'a', instance: null, token: 1 }, headers)).status).toBe(415);
  });

  it('are those that were shown: a later hold stays, and a free lock is free', async () => {
    const page = await pages.start({ dashboard: allowed });
    const { locks } = page.app;
    const shown = await locks.acquire('a');
    await shown.release();
    const free = await page.break({ key: 'a', instance: null, token: shown.token });
    expect(free).toMatchObject({ status: 409, body: { message: 'The lock is free already.' } });
    const later = await locks.acquire('a');
    const other = await page.break({ key: 'a', instance: null, token: shown.token });
    expect(other.status).toBe(409);
    expect(other.text).toContain('Somebody else holds the lock by now');
    expect(later.isHeld).toBe(true);
    expect((await page.break({ key: 'a', instance: null, token: null })).status).toBe(409);
  });

  it.each([
    ['another one', 'Somebody else holds the lock by now'],
    ['nobody', 'The lock is free already'],
  ])('are those that were shown: not when %s has the lock by the time it is broken', async (who, message) => {
    const inner = new MemoryLockStore();
    let meanwhile = (): Promise<void> => Promise.resolve();
    const store: LockStore = {
      name: 'a store in which time passes',
      open(client) {
        const session = inner.open(client);
        const inspect = session.inspect.bind(session);
        session.inspect = async (key) => {
          const seen = await inspect(key);
          await meanwhile();
          return seen;
        };
        return session;
      },
    };
    const page = await pages.start({ dashboard: allowed, locks: { store, shutdownTimeout: 0 } });
    const other = await pages.start({ locks: { store: inner, shutdownTimeout: 0 } });
    const { locks } = other.app;
    const shown = await locks.acquire('a');
    let later: LockHandle | undefined;
    meanwhile = async () => {
      meanwhile = () => Promise.resolve();
      await shown.release();
      if (who === 'another one') later = await locks.acquire('a');
    };
    const { status, text } = await page.break({ key: 'a', instance: null, token: shown.token });
    expect(status).toBe(409);
    expect(text).toContain(message);
    if (later !== undefined) expect(await later.release()).toBe('released');
    expect(page.app.log.matching('was broken by force')).toEqual([]);
  });

  it.each([
    ['a reader', { mode: 'shared' }],
    ['one of a semaphore', { limit: 3 }],
  ] as [string, LockOptions][])(
    'are ended for one holder where several share them: %s',
    async (_, options) => {
      const store = new MemoryLockStore();
      const page = await pages.start({ dashboard: allowed, locks: { store, shutdownTimeout: 0 } });
      const other = await pages.start({ locks: { store, shutdownTimeout: 0 } });
      const [one, two] = [
        await page.app.locks.acquire('a', options),
        await other.app.locks.acquire('a', options),
      ];
      expect((await page.break({ key: 'a', instance: null, token: two.token })).status).toBe(200);
      expect(await two.release()).toBe('expired');
      expect(await one.release()).toBe('released');
    },
  );

  it('are those that were shown also where a process hands its lock on by itself, which the store does not know', async () => {
    const store = new MemoryLockStore();
    const page = await pages.start({ dashboard: allowed, locks: { store, shutdownTimeout: 0 } });
    const other = await pages.start({ locks: { store, shutdownTimeout: 0 } });
    const first = await other.app.locks.acquire('a');
    const following = other.app.locks.acquire('a', { waitTime: 60_000 });
    const queued = other.app.next('granted', 'a');
    await first.release();
    await queued;
    const second = await following;
    // The other process tells what it has while somebody looks.
    await other.overview();
    await until(
      'it has told',
      async () => {
        const { processes } = await page.overview();
        return processes.some(({ held }) => held.some(({ token }) => token === second.token));
      },
      { every: 100 },
    );
    const old = await page.break({ key: 'a', instance: null, token: first.token });
    expect(second.isHeld).toBe(old.status !== 200);
    expect(old.status).toBe(409);
    const lost = other.app.next('lost', 'a');
    expect((await page.break({ key: 'a', instance: null, token: second.token })).status).toBe(200);
    await lost;
  });

  it.each([
    [undefined],
    [{}],
    [{ key: 'a' }],
    [{ key: 'a', token: '1' }],
    [{ key: '', token: 1 }],
    [{ key: 7, token: 1 }],
    [[]],
  ])('are named rightly: %j is answered 400', async (body) => {
    const page = await pages.start({ dashboard: allowed });
    expect((await page.break(body ?? null)).status).toBe(400);
  });
});
