import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { postgresStore } from '../../../lib/stores/postgres/index.js';
import { CommandLine } from '../../support/command-line.js';
import { LockApp } from '../../support/lock-app.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { TestFolder } from '../../support/test-folder.js';
import { whereThereIsPostgres } from '../../support/where-there-is.js';

whereThereIsPostgres('doctor with postgres', () => {
  describe('O25: doctor with a PostgreSQL store that does not listen', () => {
    const folder = new TestFolder();
    let server: PostgresServer;
    beforeAll(async () => {
      server = await PostgresServer.startWithSchema();
    });
    afterAll(() => server.close());

    /** A configuration file with these options of the store. */
    const configOf = (name: string, options: object): Promise<string> => {
      const entry = new URL('../../../dist/cjs/postgres.js', import.meta.url).href;
      const given = JSON.stringify({ connection: server.url, ...options });
      return folder.write(
        name,
        `import { postgresStore } from '${entry}';\nexport default { store: postgresStore(${given}) };`,
      );
    };

    it('warns of slow hand-overs, names the option that causes them, and exits with 0', async () => {
      const config = await configOf('deaf.mjs', { listen: false });
      const { code, stdout } = await CommandLine.run(['doctor', '--config', config]);
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.stringMatching(/warning +pub\/sub .*postgresStore\(\{ listen: false \}\)/),
      });
      expect(stdout).not.toContain('SUBSCRIBE');
    });

    it('says whether there are other locks in the schema', async () => {
      const config = await configOf('own.mjs', {});
      const empty = /ok +locks +no lock is held here except that of this check/;
      expect((await CommandLine.run(['doctor', '--config', config])).stdout).toMatch(empty);
      const app = await LockApp.start({ store: postgresStore({ connection: server.url }) });
      const handle = await app.locks.acquire('order');
      expect((await CommandLine.run(['doctor', '--config', config])).stdout).not.toMatch(empty);
      await handle.release();
      await app.close();
    });
  });
});
