import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { previousBuild } from '../../../.scripts/previous-build.mjs';
import { RollingProcess } from '../../support/rolling-process.js';

export interface SharedStore {
  /** Options of the module, see test/support/worker-options.mjs. */
  readonly options: object;
  close(): Promise<unknown>;
}

const present = fileURLToPath(new URL('../../../', import.meta.url));

const LONG = 30_000;
/** A waiter that was not notified polls after a second. */
const NOT_BY_A_POLL = 700;
const ROUNDS = 5;

/**
 * What has to hold while a rolling deploy replaces the previous version: processes of both versions share locks.
 *
 * @param start starts the store, prepared as the documentation says for a deploy
 */
export function previousVersionRules(store: string, start: () => Promise<SharedStore>): void {
  const previous = previousBuild();
  describe(`${store}, shared with the previous version`, () => {
    if (previous === undefined) {
      it.skip('needs a build of it: npm run test:stores makes one, where the git history has its commit', () =>
        undefined);
      return;
    }
    let shared: SharedStore;
    let folder: string;
    const processes = new Map<string, RollingProcess>();
    const of = (version: string): RollingProcess => {
      const found = processes.get(version);
      if (found === undefined) throw new Error(`there is no process of the ${version} version`);
      return found;
    };

    beforeAll(async () => {
      if (!existsSync(join(present, 'dist'))) throw new Error('dist is missing: run "npm run build" first');
      folder = mkdtempSync(join(tmpdir(), 'lock-versions-'));
      shared = await start();
      // In the order of a deploy.
      processes.set('previous', await RollingProcess.start(previous, shared.options));
      processes.set('present', await RollingProcess.start(present, shared.options));
    });
    afterAll(async () => {
      await Promise.all([...processes.values()].map((each) => each.close()));
      await shared.close();
      rmSync(folder, { recursive: true });
    });

    describe.each([
      ['present', 'previous'],
      ['previous', 'present'],
    ])('held by the %s version, waited for by the %s one', (holding, waiting) => {
      it.each([
        ['an exclusive lock', {}, {}],
        ['a lock with readers', { mode: 'shared' }, {}],
        ['a lock with a writer', {}, { mode: 'shared' }],
      ] as const)('the waiter of %s is notified of the release', async (_, held, wanted) => {
        const [holder, waiter] = [of(holding), of(waiting)];
        const waits: number[] = [];
        for (let round = 0; round < ROUNDS; round += 1) {
          const key = randomUUID();
          const first = await holder.do('acquire', { key, lock: { ...held, waitTime: LONG }, as: key });
          let entered = false;
          const next = waiter.do('acquire', { key, lock: { ...wanted, waitTime: LONG }, as: key });
          void next.then(() => (entered = true));
          await waiter.queued(key);
          expect(entered).toBe(false);
          const { outcome, at } = await holder.do('release', { as: key });
          expect(outcome).toBe('released');
          const second = await next;
          expect(second.token).toBeGreaterThan(first.token);
          waits.push(second.at - at);
          expect((await waiter.do('release', { as: key })).outcome).toBe('released');
        }
        // The fastest, since the machine may be busy.
        expect(Math.min(...waits)).toBeLessThan(NOT_BY_A_POLL);
      });

      it('a semaphore has its limit, and its waiter is notified', async () => {
        const [holder, waiter] = [of(holding), of(waiting)];
        const waits: number[] = [];
        for (let round = 0; round < ROUNDS; round += 1) {
          const key = randomUUID();
          const lock = { limit: 2, waitTime: LONG };
          await holder.do('acquire', { key, lock, as: `${key} 1` });
          await waiter.do('acquire', { key, lock, as: `${key} 2` });
          const third = waiter.do('acquire', { key, lock: { limit: 2, waitTime: 100 }, as: `${key} 3` });
          await expect(third).rejects.toThrow('LOCK_TIMEOUT');
          const next = waiter.do('acquire', { key, lock, as: `${key} 4` });
          await waiter.queued(key);
          const { at } = await holder.do('release', { as: `${key} 1` });
          waits.push((await next).at - at);
          for (const as of [`${key} 2`, `${key} 4`]) await waiter.do('release', { as });
        }
        expect(Math.min(...waits)).toBeLessThan(NOT_BY_A_POLL);
      });

      it('readers of both share a lock', async () => {
        const key = randomUUID();
        const lock = { mode: 'shared', waitTime: 5_000 } as const;
        await of(holding).do('acquire', { key, lock, as: key });
        await of(waiting).do('acquire', { key, lock, as: key });
        await expect(
          of(waiting).do('acquire', { key, lock: { waitTime: 100 }, as: 'writer' }),
        ).rejects.toThrow('LOCK_TIMEOUT');
        await of(holding).do('release', { as: key });
        await of(waiting).do('release', { as: key });
      });
    });

    it('never do both hold an exclusive lock while they compete for it', async () => {
      const task = {
        key: randomUUID(),
        lock: { waitTime: LONG },
        ms: 1_500,
        rounds: 4,
        witness: join(folder, 'witness'),
      };
      const reports = await Promise.all([...processes.values()].map((each) => each.do('compete', task)));
      for (const { rounds, overlaps, errors } of reports) {
        expect({ overlaps, errors }).toEqual({ overlaps: 0, errors: [] });
        expect(rounds).toBeGreaterThanOrEqual(4);
      }
    });
  });
}
