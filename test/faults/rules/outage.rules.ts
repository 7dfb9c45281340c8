import { expect, it } from '@jest/globals';
import { backoff, type LockHandle, type LockOptions } from '../../../lib/index.js';
import type { LockApp } from '../../support/lock-app.js';
import type { TcpProxy } from '../../support/tcp-proxy.js';
import { next, until } from '../../support/until.js';

/** A setup in which one process can be cut off from a store that other processes still reach. */
export interface OutageScene {
  proxy(): Promise<Pick<TcpProxy, 'port' | 'refuse' | 'accept' | 'cut' | 'swallow' | 'loseRequest'>>;
  app(settings?: { readonly port?: number }): Promise<LockApp>;
  /** Whether a majority decides before silent connections are cut, so that only the next attempt has new ones. */
  readonly isDecidedByVotes?: boolean;
  key(): string;
}

/** The reports about an outage of the store. */
export function outageRules(scene: OutageScene): void {
  /** @param cutOff causes the outage; the returned function ends it */
  const reportedOnce = async (
    cutOff: (proxy: Awaited<ReturnType<OutageScene['proxy']>>) => Promise<() => unknown>,
    options: LockOptions = {},
  ): Promise<void> => {
    const proxy = await scene.proxy();
    const [other, app] = [await scene.app(), await scene.app({ port: proxy.port })];
    const key = scene.key();
    const held = await other.locks.acquire(key);
    const waiting = app.locks.acquire(key, { ...options, waitTime: Infinity });
    await until('it waits', () => app.admin.waiting().length === 1);
    const reported = next(app.locks.events, (event) => event.type === 'unavailable', 5_000);
    const mend = await cutOff(proxy);
    try {
      expect(await reported).toMatchObject({ error: { name: 'LockUnavailableError', keys: [] } });
      expect(app.admin.status().store).toMatchObject({ reachable: false, error: expect.any(Error) });
      expect(app.log.matching("Locks can't be acquired in ")).toHaveLength(1);
    } finally {
      await mend();
    }
    await until('it is back', () => app.events('available').length > 0, { deadline: 15_000 });
    expect(app.admin.status().store).toMatchObject({ reachable: true, error: undefined });
    await held.release();
    await (await waiting).release();
    expect(app.log.matching("Locks can't be acquired in ")).toHaveLength(1);
    expect(app.log.matching(/^Locks can be acquired in .* again\.$/)).toHaveLength(1);
    expect(app.events('unavailable')).toHaveLength(1);
    expect(app.events('available')).toHaveLength(1);
  };

  it.each<[string, LockOptions]>([
    ['waits', {}],
    ['retries', { retry: { backoff: backoff.fixed(200) } }],
  ])(
    'F58: an outage with refused connections is reported once within 5 s while a call %s, and so is its end',
    async (_, options) => {
      await reportedOnce(async (proxy) => {
        await proxy.refuse();
        proxy.cut();
        return () => proxy.accept();
      }, options);
    },
  );

  it('F58: an outage with silent connections is reported once within 5 s while a call waits, and so is its end', async () => {
    await reportedOnce((proxy) => {
      const ends = [proxy.swallow('requests'), proxy.swallow('replies')];
      return Promise.resolve(() => {
        for (const end of ends) end();
      });
    });
  });

  /** What a firewall or load balancer does to connections that were idle for too long. */
  const forgets: readonly [string, (proxy: Awaited<ReturnType<OutageScene['proxy']>>) => void][] = [
    ['resets at its next use', (proxy) => void proxy.loseRequest(() => true)],
    [
      'answers with silence',
      (proxy) => {
        let isOpen = true;
        for (const direction of ['requests', 'replies'] as const) proxy.swallow(direction, () => isOpen);
        isOpen = false;
      },
    ],
  ];
  it.each(forgets)(
    'F62: a single attempt over a connection that a firewall %s succeeds over a new one',
    async (_, forget) => {
      const proxy = await scene.proxy();
      const app = await scene.app({ port: proxy.port });
      const keys = [scene.key(), scene.key()];
      for (const key of [scene.key(), keys]) {
        const attempt = (): Promise<LockHandle | undefined> =>
          app.locks.acquire(key, { waitTime: 0 }).catch(() => undefined);
        let handle: LockHandle | undefined;
        // On a busy machine a new connection may take longer than an attempt waits for it.
        for (let round = 0; handle === undefined && round < 5; round++) {
          await (await app.locks.acquire(scene.key())).release();
          forget(proxy);
          handle =
            scene.isDecidedByVotes === true
              ? await until('an attempt succeeds', attempt, { deadline: 5_000 })
              : await attempt();
        }
        expect(handle?.isHeld).toBe(true);
        await handle?.release();
      }
    },
  );

  it('F58: the status reports the store unreachable while all connections are closed, without a request', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ port: proxy.port });
    await (await app.locks.acquire(scene.key())).release();
    expect(app.admin.status().store.reachable).toBe(true);
    await proxy.refuse();
    proxy.cut();
    await until('the status says so', () => app.admin.status().store.reachable === false);
    await proxy.accept();
    await until('it is back', () => app.admin.status().store.reachable === true, { deadline: 15_000 });
  });
}
