import { describe, expect, it } from '@jest/globals';
import { elapse, until } from '../support/until.js';
import type { ContractContext } from './contract-context.js';
import { crowd, PortCaller, stand } from './port-callers.js';
import type { AskSettings, PortClient } from './port-client.js';

const reader = { limit: Infinity };

/** What the port requires of locks that several owners may hold: readers beside a writer, and semaphores. */
export function sharingRules(context: ContractContext): void {
  describe('the port, for shared holds', () => {
    const callersOf =
      (key: string) =>
      (client: PortClient, settings: AskSettings = {}): PortCaller =>
        new PortCaller(client, key, settings);

    it('readers hold together, and a writer waits for all of them', async () => {
      const [a, b] = await context.clients(2);
      const at = callersOf(context.key());
      const [one, two, three] = [at(a, reader), at(b, reader), at(a, reader)];
      const [writer, late] = [at(b), at(a, reader)];
      for (const caller of [one, two, three]) await caller.hold();
      expect(await writer.newcomer()).toMatchObject({ outcome: 'busy' });
      await writer.queue();
      await stand([one, two, three], [writer]);
      expect(await one.release()).toBe('released');
      expect(await three.release()).toBe('released');
      await stand([two], [writer]);
      expect(await two.release()).toBe('released');
      await writer.pushed();
      expect(await late.newcomer()).toMatchObject({ outcome: 'busy' });
      await writer.release();
      await late.hold();
      await late.release();
    });

    it('B13: a reader does not overtake a waiting writer', async () => {
      const [a, b] = await context.clients(2);
      const at = callersOf(context.key());
      const [first, writer, second, third] = [at(a, reader), at(b), at(a, reader), at(b, reader)];
      await first.hold();
      await writer.queue();
      expect(await second.newcomer()).toMatchObject({ outcome: 'busy' });
      await second.queue();
      await stand([first], [writer, second]);
      expect(await third.newcomer()).toMatchObject({ outcome: 'busy' });
      await first.release();
      await writer.pushed();
      await stand([writer], [second]);
      await writer.release();
      await second.pushed();
      await second.release();
      expect([writer.pushes, second.pushes, third.pushes]).toEqual([1, 1, 0]);
    });

    it('B13: one release grants all adjacent readers, and no reader behind the next writer', async () => {
      const [a, b] = await context.clients(2);
      const at = callersOf(context.key());
      const [writer, other] = [at(a), at(b)];
      const readers = [at(b, reader), at(a, reader), at(b, reader)];
      const last = at(a, reader);
      await writer.hold();
      for (const caller of [...readers, other, last]) await caller.queue();
      await stand([writer], [...readers, other, last]);
      await writer.release();
      for (const caller of readers) await caller.pushed();
      await stand(readers, [other, last]);
      for (const caller of [...readers].reverse()) expect(await caller.release()).toBe('released');
      await other.pushed();
      await stand([other], [last]);
      await other.release();
      await last.pushed();
      await last.release();
    });

    it('B13: readers behind a writer that gives up are granted beside the current readers', async () => {
      const [a, b] = await context.clients(2);
      const at = callersOf(context.key());
      const [holder, writer] = [at(a, reader), at(b)];
      const readers = [at(a, reader), at(b, reader)];
      await holder.hold();
      for (const caller of [writer, ...readers]) await caller.queue();
      await writer.cancel();
      for (const caller of readers) await caller.pushed();
      await stand([holder, ...readers]);
      for (const caller of [holder, ...readers]) await caller.release();
      expect(writer.pushes).toBe(0);
    });

    it('B13, P16: several expired permits are granted to several waiters at once, in order', async () => {
      const clients = await context.clients(2);
      const [first, second, third, fourth, fifth, sixth, stranger] = crowd(7, clients, context.key(), {
        limit: 3,
      });
      for (const caller of [first, second, third]) await caller.hold();
      for (const caller of [fourth, fifth]) await caller.queue();
      for (const caller of [first, second, third]) await caller.expire();
      // The newcomer's request finds the expired permits and grants them to the waiters; one permit is left.
      await sixth.hold();
      for (const caller of [fourth, fifth]) await caller.pushed();
      await stand([fourth, fifth, sixth]);
      expect(await stranger.newcomer()).toMatchObject({ outcome: 'busy' });
      for (const caller of [fourth, fifth, sixth]) await caller.release();
    });

    it('B13, P16: a waiter behind others is granted a remaining permit when it polls', async () => {
      const clients = await context.clients(2);
      const [first, second, third, fourth, fifth] = crowd(5, clients, context.key(), { limit: 2 });
      for (const caller of [first, second]) await caller.hold();
      for (const caller of [third, fourth, fifth]) await caller.queue();
      for (const caller of [first, second]) await caller.expire();
      await fourth.served();
      await third.pushed();
      await stand([third, fourth], [fifth]);
      await third.release();
      await fifth.pushed();
      for (const caller of [fourth, fifth]) await caller.release();
    });

    it('each shared hold has its own lease, and the end of one frees nothing else', async () => {
      const clients = await context.clients(2);
      const [short, long, waiter] = crowd(3, clients, context.key(), { limit: 2 });
      const start = performance.now();
      await short.hold({ lease: 300 });
      await long.hold({ lease: 20_000 });
      // The reply holds the shortest lease: its end is the earliest moment for another request.
      const { holderLeaseLeft = 0 } = await waiter.queue();
      expect(holderLeaseLeft).toBeLessThanOrEqual(300);
      await until('it has expired', async () => (await short.stored()) === undefined);
      expect(performance.now() - start).toBeGreaterThanOrEqual(298);
      if (context.store.servesAtEndOfLease !== true) await stand([long], [waiter]);
      await waiter.served();
      expect(await short.renew(20_000)).toBe('gone');
      expect(await short.release()).toBe('not-held');
      await stand([long, waiter]);
      expect((await long.stored())?.leaseLeft).toBeGreaterThan(15_000);
      await long.release();
      await waiter.release();
    });

    it('B16: every shared hold has its own token, larger than all before', async () => {
      const [a, b] = await context.clients(2);
      const at = callersOf(context.key());
      const readers = [at(a, reader), at(b, reader), at(a, reader)];
      const tokens: number[] = [];
      for (const caller of readers) tokens.push(await caller.hold());
      const writer = at(b);
      await writer.queue();
      const behind = [at(a, reader), at(b, reader)];
      for (const caller of behind) await caller.queue();
      for (const caller of readers) await caller.release();
      tokens.push((await writer.pushed()).token);
      await writer.release();
      const last = [];
      for (const caller of behind) last.push((await caller.pushed()).token);
      if (context.store.grantsTokensInAnyOrder === true) last.sort((one, other) => one - other);
      tokens.push(...last);
      expect(tokens).toEqual([...new Set(tokens)].sort((one, other) => one - other));
      for (const caller of behind) await caller.release();
      const next = at(a, { limit: 4 });
      expect(await next.hold()).toBeGreaterThan(Math.max(...tokens));
      await next.release();
    });

    it('P3: no other owner receives the tokens granted to a shared hold', async () => {
      const clients = await context.clients(2);
      const [one, two, three] = crowd(3, clients, context.key(), { limit: 2, tokens: 60_000_000 });
      let last = 0;
      const note = ({ token, tokens = 1 }: { token: number; tokens?: number }): void => {
        expect(token).toBeGreaterThan(last);
        last = token + tokens - 1;
      };
      for (const caller of [one, two]) {
        const reply = await caller.acquire();
        if (reply.outcome !== 'granted') throw new Error(reply.outcome);
        note(reply);
      }
      await three.queue();
      await one.release();
      note(await three.pushed());
      for (const caller of [two, three]) await caller.release();
      const whole = new PortCaller(clients[0], one.key);
      note({ token: await whole.hold() });
      await whole.release();
    });

    it('P15: readers behind a writer that stopped polling are served when one of them polls', async () => {
      const [a, b, c] = await context.clients(3);
      const at = callersOf(context.key());
      const [holder, silent, living, other] = [at(a, reader), at(b), at(c, reader), at(c, reader)];
      await holder.hold();
      const before = performance.now();
      await silent.queue();
      const after = performance.now();
      for (let isServed = false; !isServed;) {
        await elapse(600);
        const sentAt = performance.now();
        const replies = await Promise.all([living, other].map((caller) => caller.acquire({ wait: true })));
        isServed = replies.some(({ outcome }) => outcome === 'granted');
        if (isServed) expect(performance.now() - before).toBeGreaterThanOrEqual(2_990);
        else expect(sentAt - after).toBeLessThanOrEqual(3_010);
      }
      await living.served();
      await other.served();
      await stand([holder, living, other]);
      expect(b.grants).toEqual([]);
      for (const caller of [holder, living, other]) await caller.release();
    });
  });
}
