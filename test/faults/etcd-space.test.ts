import { describe, expect, it } from '@jest/globals';
import { examineLocks } from '../../lib/cli/commands/doctor.command.js';
import { LockHealthIndicator } from '../../lib/health/index.js';
import { LockUnavailableError, type LockHandle } from '../../lib/index.js';
import { methods, fieldsOf, type Method } from '../../lib/stores/etcd/connection/protocol.js';
import type { Endpoint } from '../../lib/stores/etcd/connection/endpoint.js';
import { etcdStore } from '../../lib/stores/etcd/index.js';
import { PortClient } from '../contract/port-client.js';
import { Endings } from '../support/endings.js';
import { EtcdServer } from '../support/etcd-server.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { elapse, next, rejectionOf, until } from '../support/until.js';
import { whereThereIsEtcd } from '../support/where-there-is.js';

const watchdogTimeout = 2_000;

/** The length of the agreed raft log, from the reply to a status request. */
function raftIndexIn(message: Buffer): number {
  for (const { number, int } of fieldsOf(message)) if (number === 5) return int;
  throw new Error('etcd did not report the length of its log');
}

whereThereIsEtcd('etcd without disk space', () => {
  describe('etcd without disk space', () => {
    const endings = new Endings();
    let server: EtcdServer;
    let client: Endpoint;

    const start = async (): Promise<TcpProxy> => {
      server = endings.until(
        await (await EtcdServer.start({ flags: ['--quota-backend-bytes', '1000000'] })).ready(),
      );
      client = server.client();
      await client.open(10_000);
      return endings.until(await TcpProxy.before(server.port));
    };
    const app = async (port = server.port, lease = watchdogTimeout): Promise<LockApp> => {
      const store = etcdStore({ hosts: `127.0.0.1:${String(port)}` });
      return endings.app(await LockApp.start({ store, watchdogTimeout: lease, shutdownTimeout: 50 }));
    };
    const fill = async (): Promise<void> => {
      await until('etcd is full', async () => {
        const put = { do: 'put', key: 'filling', value: 'x'.repeat(100_000), lease: 0 } as const;
        const putting = client.call(methods.transaction, { do: 'txn', if: [], then: [put], else: [] });
        return String(await putting.catch((error: unknown) => error)).includes('space exceeded');
      });
    };
    const renewed = async (one: LockApp, times: number): Promise<void> => {
      for (let count = 0; count < times; count++)
        await next(one.locks.events, ({ type }) => type === 'renewed');
    };

    it('F6: holds are renewed (also on a new connection) and released, and no lock is acquired', async () => {
      const proxy = await start();
      const [holder, other] = [await app(proxy.port), await app()];
      const handles: LockHandle[] = [];
      for (const key of ['one', 'two', 'three']) handles.push(await holder.locks.acquire(key));
      await fill();
      await renewed(holder, 5);
      const failure = await rejectionOf(other.locks.acquire('free', { waitTime: 500 }));
      expect(failure).toBeInstanceOf(LockUnavailableError);
      expect(String(failure)).toContain('Compact and defragment it');
      proxy.cut();
      await renewed(holder, 5);
      expect(holder.events('lost')).toEqual([]);
      expect(await other.locks.tryAcquire('one').catch(() => null)).toBeNull();
      expect(await handles[0]?.release()).toBe('released');
      expect(await other.locks.isLocked('one')).toBe(false);
      expect(await other.admin.forceRelease('two')).toBe(true);
      await next(holder.locks.events, ({ type }) => type === 'lost');
      expect(handles[2]?.isHeld).toBe(true);
    });

    it('F6: extend() fails, and a waiter that receives the lock loses it within seconds and is notified', async () => {
      await start();
      const [holder, waiter] = [await app(), await app()];
      const handle = await holder.locks.acquire('queued');
      const fixed = await holder.locks.acquire('fixed', { leaseTime: 60_000 });
      const waiting = waiter.locks.acquire('queued', { waitTime: 20_000 });
      await queuedIn(waiter, 'queued');
      await fill();
      expect(await rejectionOf(fixed.extend(120_000))).toBeInstanceOf(LockUnavailableError);
      expect(await handle.release()).toBe('released');
      const woken = await waiting;
      const since = performance.now();
      if (woken.isHeld) await next(waiter.locks.events, ({ type }) => type === 'lost');
      expect(performance.now() - since).toBeLessThan(3_000);
      expect(woken.isHeld).toBe(false);
      expect(waiter.events('lost', 'queued')).toHaveLength(1);
    });

    it('F57: health is down, an application that starts then logs the cause, and doctor reports it', async () => {
      await start();
      const before = await app();
      const isDown = async ({ admin }: LockApp): Promise<void> => {
        const limits = { unreachableFor: 0, probeTimeout: 5_000 };
        expect(await new LockHealthIndicator(admin).isHealthy('locks', limits)).toMatchObject({
          locks: { status: 'down', reachable: true, reasons: [expect.stringContaining('no space left')] },
        });
      };
      await (await before.locks.acquire('key')).release();
      await fill();
      // Without a failed call.
      await isDown(before);
      const after = await app();
      expect(after.log.matching('no space left')).toHaveLength(1);
      await isDown(after);
      const { findings } = await examineLocks({ store: etcdStore({ hosts: server.address }) }, false);
      expect(findings.filter(({ text }) => text.includes('no space left'))).toMatchObject([
        { level: 'warning', check: 'store' },
      ]);
      expect(findings.filter(({ level }) => level === 'problem')).toMatchObject([{ check: 'lock' }]);
    });

    it('F6, F12: a release in doubt still frees the lock', async () => {
      await start();
      const port = await PortClient.open(etcdStore({ hosts: server.address }));
      endings.app(port);
      const [first, second] = [port.newOwner(), port.newOwner()];
      await port.take('first', first);
      await port.take('second', second);
      await fill();
      expect(await port.release('first', first, true)).toBe('released');
      await port.cancel('second', second, true);
      const left = { do: 'range', key: 'distributed-lock/l/', end: 'distributed-lock/l0' } as const;
      expect((await client.call(methods.range, left)).reply.entries).toEqual([]);
    });

    it('F54: after holds that ended while their claim was under way, nothing is written to the log of etcd', async () => {
      const proxy = await start();
      const raftIndex: Method<undefined, number> = { ...methods.status, decode: raftIndexIn };
      // So long that each claim is sent without a keep-alive before it.
      const lease = 4_000;
      const [near, far] = [await app(server.port, lease), await app(proxy.port, lease)];
      proxy.delay(20);
      for (let round = 0; round < 10; round++) {
        const key = `key-${String(round)}`;
        const held = await near.locks.acquire(key);
        const waiting = far.locks.acquire(key);
        await queuedIn(far, key);
        await held.release();
        const next = await waiting;
        await elapse(15);
        await next.release();
      }
      await elapse(100);
      const before = await client.call(raftIndex, undefined);
      // When the leases would end that were granted meanwhile.
      await elapse(1.25 * lease);
      expect(await client.call(raftIndex, undefined)).toBe(before);
    });

    it('B22: a renewal writes nothing to the log of etcd', async () => {
      await start();
      const raftIndex: Method<undefined, number> = { ...methods.status, decode: raftIndexIn };
      const holder = await app();
      await holder.locks.acquire('key');
      await holder.locks.acquire('other');
      await renewed(holder, 2);
      const before = await client.call(raftIndex, undefined);
      await renewed(holder, 6);
      expect(before).toBeGreaterThan(0);
      expect(await client.call(raftIndex, undefined)).toBe(before);
      expect(holder.events('lost')).toEqual([]);
    });
  });
});
