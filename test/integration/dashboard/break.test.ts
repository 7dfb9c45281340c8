import { afterEach, describe, expect, it } from '@jest/globals';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { LockEvent } from '../../../lib/index.js';
import type { LockDashboardOptions } from '../../../lib/dashboard/index.js';
import { ADAPTERS } from '../nest/http-app.js';
import { OpsPages } from './ops-page.js';

/** Lets all requests pass, with a user. */
class SignedIn implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ user?: unknown }>();
    request.user = { username: 'alice' };
    return true;
  }
}

describe('O21: breaking locks on the page', () => {
  const pages = new OpsPages();
  afterEach(() => pages.close());
  const allowed: LockDashboardOptions = { access: 'open', allowBreak: true, hosts: ['127.0.0.1'] };

  it('is rejected unless it is allowed', async () => {
    const page = await pages.start();
    const hold = await page.app.locks.acquire('a');
    const { status, text } = await page.break({ key: 'a', instance: null, token: hold.token });
    expect(status).toBe(403);
    expect(text).toContain('allowBreak: true');
    expect(hold.isHeld).toBe(true);
    expect((await page.overview()).allowBreak).toBe(false);
  });

  it.each(Object.entries(ADAPTERS))(
    'passes the lock to the next waiter; log and event name the user (%s)',
    async (_, adapter) => {
      const page = await pages.start({
        dashboard: { guards: [SignedIn], allowBreak: true },
        adapter: adapter(),
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
    },
  );

  it('names the user by the function of the application', async () => {
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
  ])('is rejected for %s', async (_, headers: Record<string, string>) => {
    const page = await pages.start({ dashboard: allowed });
    const hold = await page.app.locks.acquire('a');
    const { status } = await page.break({ key: 'a', instance: null, token: hold.token }, headers);
    expect(status).toBe(403);
    expect(hold.isHeld).toBe(true);
  });

  it('is accepted from the page without TLS, where browsers send only the origin', async () => {
    const page = await pages.start({ dashboard: allowed });
    const { token } = await page.app.locks.acquire('a');
    const origin = page.app.url('/').origin;
    expect((await page.break({ key: 'a', instance: null, token }, { origin })).status).toBe(200);
  });

  it('is rejected for a form', async () => {
    const page = await pages.start({ dashboard: allowed });
    const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'text/plain' };
    expect((await page.break({ key: 'a', instance: null, token: 1 }, headers)).status).toBe(415);
  });

  it('breaks the hold that was shown: a later hold stays, and a free lock stays free', async () => {
    const page = await pages.start({ dashboard: allowed });
    const { locks } = page.app;
    const shown = await locks.acquire('a');
    await shown.release();
    const free = await page.break({ key: 'a', instance: null, token: shown.token });
    expect(free).toMatchObject({ status: 409, body: { message: 'The lock is free already.' } });
    const later = await locks.acquire('a');
    const other = await page.break({ key: 'a', instance: null, token: shown.token });
    expect(other.status).toBe(409);
    expect(other.text).toContain('The lock has another holder now');
    expect(later.isHeld).toBe(true);
    expect((await page.break({ key: 'a', instance: null, token: null })).status).toBe(409);
  });

  it.each([
    [undefined],
    [{}],
    [{ key: 'a' }],
    [{ key: 'a', token: '1' }],
    [{ key: '', token: 1 }],
    [{ key: 7, token: 1 }],
    [[]],
  ])('answers 400 to %j', async (body) => {
    const page = await pages.start({ dashboard: allowed });
    expect((await page.break(body ?? null)).status).toBe(400);
  });
});
