import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DistributedLockOptions } from '../../../lib/index.js';
import { LockApp } from '../../support/lock-app.js';

/** A store in which a later version has left the mark of its format. */
export interface MarkedStore {
  close(): Promise<unknown>;
  readonly module: DistributedLockOptions;
  /** The names of everything in the store. */
  names(): Promise<readonly string[]>;
}

/** @param start starts a store with the mark `2 3.0.0` */
export function unknownFormatRules(store: string, start: () => Promise<MarkedStore>): void {
  describe(`${store} with locks in a format of a later version`, () => {
    const refusal = /keeps locks in format "2", written by version 3\.0\.0 .*Upgrade this process/;
    let marked: MarkedStore;
    beforeAll(async () => {
      marked = await start();
    });
    afterAll(() => marked.close());

    it('refuses every call, says why, and writes nothing', async () => {
      const before = await marked.names();
      const app = await LockApp.start({ ...marked.module, shutdownTimeout: 100 });
      for (const options of [{ waitTime: 500 }, { limit: 2, waitTime: 500 }]) {
        await expect(app.locks.acquire('order:42', options)).rejects.toMatchObject({
          code: 'LOCK_UNAVAILABLE',
          message: expect.stringMatching(refusal),
        });
      }
      await app.close();
      expect(await marked.names()).toEqual(before);
    });
  });
}
