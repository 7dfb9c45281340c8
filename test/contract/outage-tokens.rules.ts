import { describe, expect, it } from '@jest/globals';
import { FallbackLockStore } from '../../lib/stores/fallback/fallback-lock-store.js';
import { CutStore } from '../support/cut-store.js';
import { elapse, until } from '../support/until.js';
import type { ContractContext } from './contract-context.js';
import type { PortClient } from './port-client.js';

/** Fencing tokens of processes with a fallback, which grant locks by themselves while the store is unreachable. */
export function outageTokenRules(context: ContractContext): void {
  describe('fencing tokens over an outage with local locks', () => {
    /** Its requests about other keys than this one are not followed. */
    class Process {
      private constructor(
        readonly store: CutStore,
        readonly client: PortClient,
      ) {}

      static async start(): Promise<Process> {
        const store = new CutStore(context.store.port());
        return new Process(store, await context.client(new FallbackLockStore(store)));
      }

      /** Holds the lock for a moment. The clock goes on. */
      async hold(key: string): Promise<{ readonly token: number; readonly local: boolean }> {
        const owner = this.client.newOwner();
        const reply = await this.client.acquire(key, owner);
        if (reply.outcome !== 'granted') throw new Error(`not granted but ${reply.outcome}`);
        await this.client.release(key, owner);
        await elapse(5);
        return { token: reply.token, local: reply.local === true };
      }

      async cutOff(): Promise<void> {
        this.store.cut();
        await until('it locks for itself', async () => (await this.hold('probe')).local);
      }

      async connect(): Promise<void> {
        this.store.connect();
        await until('it uses the store', async () => !(await this.hold('probe')).local);
      }
    }

    it('F71, B16: grow into an outage and out of it, several times, in several processes', async () => {
      const processes = [await Process.start(), await Process.start()];
      const key = context.key();
      let last = 0;
      const holdInTurn = async (local: boolean): Promise<void> => {
        for (const process of [...processes, ...processes]) {
          const hold = await process.hold(key);
          expect(hold.local).toBe(local);
          expect(hold.token).toBeGreaterThan(last);
          expect(Number.isSafeInteger(hold.token)).toBe(true);
          last = hold.token;
        }
      };
      await holdInTurn(false);
      for (let outages = 0; outages < 3; outages += 1) {
        for (const process of processes) await process.cutOff();
        await holdInTurn(true);
        for (const process of processes) await process.connect();
        await holdInTurn(false);
      }
    });

    it('F71, B16: of a process that restarts, and of others, are larger than those that it gave before', async () => {
      const [first, other] = [await Process.start(), await Process.start()];
      const key = context.key();
      await other.hold(key);
      await first.cutOff();
      const local = await first.hold(key);
      await first.client.close();
      // As long as a process takes to start at least.
      await elapse(200);
      const next = await Process.start();
      const [after, last] = [await next.hold(key), await other.hold(key)];
      expect(after.token).toBeGreaterThan(local.token);
      expect(last.token).toBeGreaterThan(after.token);
    });

    it('F71, P3: a block that is reserved after the outage is larger than local tokens, too', async () => {
      const [process, other] = [await Process.start(), await Process.start()];
      const key = context.key();
      const owner = other.client.newOwner();
      await process.hold(key);
      await other.client.take(key, owner);
      await process.cutOff();
      const local = await process.hold(key);
      await process.connect();
      const reserved = await other.client.reserve({ key, owner, lease: 20_000, tokens: 3 });
      expect(reserved).toMatchObject({ outcome: 'reserved' });
      if (reserved.outcome === 'reserved') expect(reserved.token).toBeGreaterThan(local.token);
      await other.client.release(key, owner);
    });
  });
}
