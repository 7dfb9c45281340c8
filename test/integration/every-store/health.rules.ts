import { describe, expect, it } from '@jest/globals';
import { LockHealthIndicator } from '../../../lib/health/index.js';
import type { HttpApp } from '../nest/http-app.js';
import { PROBE, ReadyApps } from '../nest/readiness.js';
import { optionsOf, type OperatedStore } from './operated-store.js';

/** Readiness while the servers of a store stop and return. */
export function healthRules(store: () => OperatedStore): void {
  describe('O15: readiness', () => {
    const ready = new ReadyApps();

    const start = (): Promise<HttpApp> => ready.start(optionsOf(store().reach));
    /** Without terminus. */
    const plain = (app: HttpApp): Promise<{ locks: { status: string; reasons: readonly string[] } }> =>
      new LockHealthIndicator(app.admin).isHealthy('locks', {
        unreachableFor: 0,
        probeTimeout: PROBE,
      });
    const isUp = async (app: HttpApp): Promise<void> => {
      const { locks } = await ready.answered(app, 200);
      expect(locks).toMatchObject({ status: 'up', reasons: [], reachable: true, local: false });
    };
    const isDown = async (app: HttpApp): Promise<readonly string[]> => {
      const { locks } = await ready.answered(app, 503);
      expect(locks).toMatchObject({ status: 'down', reachable: false, local: false });
      expect(locks.reasons).toEqual([expect.stringMatching(/ has been unreachable for .* s: ./)]);
      return locks.reasons;
    };

    it('is 503 while the servers are paused, and 200 when they continue', async () => {
      const app = await start();
      await isUp(app);
      const { store: name } = (await ready.ask(app)).locks;
      expect(name).toBe(app.admin.status().store.name);
      await store().stop();
      try {
        await isDown(app);
        expect(await plain(app)).toMatchObject({ locks: { status: 'down', reachable: false } });
        // A check with a longer unreachableFor stays up, with the reason.
        const patient = await ready.ask(app, 'patient');
        expect(patient).toMatchObject({
          status: 200,
          whole: 'ok',
          locks: { status: 'up', reachable: false },
        });
        expect(patient.locks.reasons).toEqual([expect.stringContaining('did not reply')]);
      } finally {
        await store().resume();
      }
      await isUp(app);
      expect(await plain(app)).toMatchObject({ locks: { status: 'up' } });
    });

    it('is 503 when the servers were killed, also in an application started then, and 200 when they are back', async () => {
      const before = await start();
      await isUp(before);
      await store().kill();
      const apps = [before];
      try {
        await isDown(before);
        apps.push(await start());
        for (const app of apps) await isDown(app);
      } finally {
        await store().restart();
      }
      for (const app of apps) await isUp(app);
    });

    it('is 200 while a minority of the servers is down, and 503 without a majority', async () => {
      const { members } = store();
      if (members === undefined) return;
      const app = await start();
      await isUp(app);
      try {
        await members.loseSome();
        await isUp(app);
        if (members.loseMost === undefined) return;
        await members.loseMost();
        await isDown(app);
        const { withoutMost } = members;
        if (withoutMost !== undefined) expect((await isDown(app)).join()).toMatch(withoutMost);
      } finally {
        await members.regain();
      }
      await isUp(app);
    });
  });
}
