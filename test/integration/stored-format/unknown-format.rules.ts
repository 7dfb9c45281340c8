import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DistributedLockOptions } from '../../../lib/index.js';
import { CommandLine } from '../../support/command-line.js';
import { LockApp } from '../../support/lock-app.js';
import { TestFolder } from '../../support/test-folder.js';

/** A store in which a later version has left the mark of its format. */
export interface MarkedStore {
  /** Options of the module, see test/support/worker-options.mjs. */
  readonly options: object;
  close(): Promise<unknown>;
  /** The same store for an application of the tests. */
  module(): DistributedLockOptions;
  /** The names of everything in the store. */
  names(): Promise<readonly string[]>;
}

const workerOptions = fileURLToPath(new URL('../../support/worker-options.mjs', import.meta.url));

/** @param start starts a store with the mark `2 3.0.0` */
export function unknownFormatRules(store: string, start: () => Promise<MarkedStore>): void {
  describe(`${store} with locks in a format of a later version`, () => {
    const refusal = /keeps locks in format "2", written by version 3\.0\.0 .*Upgrade this process/;
    const folder = new TestFolder();
    let marked: MarkedStore;
    beforeAll(async () => {
      marked = await start();
    });
    afterAll(() => marked.close());

    it('refuses every call, says why, and writes nothing', async () => {
      const before = await marked.names();
      const app = await LockApp.start({ ...marked.module(), shutdownTimeout: 100 });
      for (const options of [{ waitTime: 500 }, { limit: 2, waitTime: 500 }]) {
        await expect(app.locks.acquire('order:42', options)).rejects.toMatchObject({
          code: 'LOCK_UNAVAILABLE',
          message: expect.stringMatching(refusal),
        });
      }
      await app.close();
      expect(await marked.names()).toEqual(before);
    });

    it('is a problem for doctor', async () => {
      const config = await folder.write(
        'locks.mjs',
        `import { moduleOptionsOf } from ${JSON.stringify(workerOptions)};
         export default await moduleOptionsOf(${JSON.stringify(marked.options)});`,
      );
      const { code, stdout } = await CommandLine.run(['doctor', '--config', config]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(refusal) });
    });
  });
}
