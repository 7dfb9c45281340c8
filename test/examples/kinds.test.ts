import { describe, expect, it } from '@jest/globals';
import { Example, scriptsOf, send, type Reply } from '../support/example.js';
import { until } from '../support/until.js';

describe('examples/kinds', () => {
  // The instance `cache` never reaches its Redis.
  const example = new Example('kinds', { env: () => ({ CACHE_REDIS_URL: 'redis://localhost:1' }) });

  const get = async (path: string): Promise<unknown> => (await send(example.app, 'GET', path)).body;
  const post = (path: string, body?: unknown): Promise<Reply> => send(example.app, 'POST', path, body);
  const untilWaiting = (key: string): Promise<unknown> =>
    until(`a request waits for ${key}`, async () => String(await get(`/locks/${key}`)).includes('waiting'));

  it('exclusive: of deposits at the same time none is lost', async () => {
    await Promise.all([1, 2, 3, 4, 5].map((amount) => post('/accounts/ann/deposits', { amount })));
    expect((await post('/accounts/ann/deposits', { amount: 0 })).body).toEqual({ balance: 15 });
  });

  it('read-write: readers run beside another reader, and a writer waits for it', async () => {
    const reader = await example.locks.acquire('price-list:eu', { mode: 'shared' });
    expect((await send(example.app, 'GET', '/price-lists/eu')).status).toBe(200);
    const written = send(example.app, 'PUT', '/price-lists/eu', { price: 3 });
    await untilWaiting('price-list:eu');
    await reader.release();
    expect((await written).status).toBe(200);
    expect(await get('/price-lists/eu')).toEqual({ prices: [3, 3] });
  });

  it('semaphore: a batch waits for its second permit, which a single label leaves it', async () => {
    const single = await example.locks.acquire('label-printer', { limit: 3 });
    const other = await example.locks.acquire('label-printer', { limit: 3 });
    const batch = post('/labels/7/batches');
    await untilWaiting('label-printer');
    await other.release();
    expect((await batch).body).toEqual({ printed: '7' });
    expect((await post('/labels/8')).body).toEqual({ printed: '8' });
    await single.release();
  });

  it('several keys: a transfer waits for each of its accounts', async () => {
    const other = await example.locks.acquire('account:bo');
    const transfer = post('/transfers', { from: 'bo', to: 'cy', amount: 30 });
    await untilWaiting('account:bo');
    await other.release();
    expect((await transfer).body).toEqual({ bo: 70, cy: 130 });
  });

  it('fair: another process is served between two requests of this one', async () => {
    const first = await example.locks.acquire('tickets:opera');
    const before = post('/tickets/opera');
    await untilWaiting('tickets:opera');
    const others = example.locks.acquire('tickets:opera', { fair: true });
    await until('both processes wait', async () => {
      return (
        ((await get('/locks/tickets:opera')) as string[]).filter((it) => it.includes('waiting')).length === 2
      );
    });
    const after = post('/tickets/opera');
    await first.release();
    expect((await before).body).toEqual({ ticket: 'opera 1' });
    const held = await others;
    await untilWaiting('tickets:opera');
    await held.release();
    expect((await after).body).toEqual({ ticket: 'opera 2' });
  });

  it('re-entrant: the inner method has the lock of the outer one', async () => {
    expect((await post('/carts/1/orders')).body).toEqual({ sameLock: true });
  });

  it('scheduled jobs: a replica skips the job while another one runs it', async () => {
    const runs = async () => ((await get('/clean-ups')) as { runs: number }).runs;
    await using _held = await example.locks.acquire('clean-up', { waitTime: 10_000 });
    const [before, scripts] = [await runs(), await scriptsOf(example.redis)];
    // Each attempt asks the store once.
    await until('the job was due', async () => (await scriptsOf(example.redis)) > scripts);
    expect(await runs()).toBe(before);
  });

  it('inspecting: shows the holder, and breaks its lock', async () => {
    await using held = await example.locks.acquire('stuck', { label: 'an import' });
    expect(await get('/locks/stuck')).toEqual([expect.stringMatching(/^held for an import by .+ pid \d+/)]);
    expect((await send(example.app, 'DELETE', '/locks/stuck')).body).toEqual({ wasHeld: true });
    expect(await get('/locks/stuck')).toEqual(['stuck is free']);
    expect(await held.release()).toBe('expired');
  });

  it('LockService: tryAcquire skips work that another process does', async () => {
    const held = await example.locks.acquire('report:7');
    expect((await post('/reports/7/refreshes')).body).toEqual({ refreshed: false });
    await held.release();
    expect((await post('/reports/7/refreshes')).body).toEqual({ refreshed: true });
    expect((await post('/reports/7')).body).toEqual({ written: '7' });
  });

  it('handlers: a stream holds the lock until its last event', async () => {
    const response = await fetch(new URL('/exports/1/progress', example.app.url));
    const events = response.text();
    expect(await get('/locks/export:1')).toEqual([expect.stringMatching(/^held /)]);
    expect((await events).match(/^data: .+$/gm)).toHaveLength(3);
    expect(await get('/locks/export:1')).toEqual(['export:1 is free']);
    expect((await post('/exports/1')).body).toEqual({ started: '1' });
  });

  it('events: counts holds and how long they took', async () => {
    const granted = async () => ((await get('/lock-metrics')) as { granted: number }).granted;
    const before = await granted();
    await post('/reports/9');
    expect(await granted()).toBeGreaterThan(before);
    expect(await get('/lock-metrics')).toMatchObject({ longestHold: expect.any(Number), lost: 0 });
  });

  it('store unavailable: locks are local while their Redis is unreachable', async () => {
    expect((await post('/cache/1')).body).toEqual({ filled: '1', inThisProcessOnly: true });
  });
});
