import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { postgresStore } from '../../../lib/stores/postgres/index.js';
import { CommandLine } from '../../support/command-line.js';
import { LockApp } from '../../support/lock-app.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { whereThereIsPostgres } from '../../support/where-there-is-postgres.js';

whereThereIsPostgres('doctor with postgres', () => {
  describe('O25: doctor with a PostgreSQL store that does not listen', () => {
    let server: PostgresServer;
    let folder: string;
    beforeAll(async () => {
      server = await PostgresServer.startWithSchema();
      folder = await mkdtemp(join(tmpdir(), 'lock-config-'));
    });
    afterAll(async () => {
      await server.close();
      await rm(folder, { recursive: true });
    });

    it('warns of slow hand-overs, names the option that causes them, and exits with 0', async () => {
      const config = join(folder, 'deaf.mjs');
      const entry = new URL('../../../dist/cjs/postgres.js', import.meta.url).href;
      const options = `{ connection: ${JSON.stringify(server.url)}, listen: false }`;
      const text = `import { postgresStore } from '${entry}';\nexport default { store: postgresStore(${options}) };`;
      await writeFile(config, text);
      const { code, stdout } = await CommandLine.run(['doctor', '--config', config]);
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.stringMatching(/warning +pub\/sub .*postgresStore\(\{ listen: false \}\)/),
      });
      expect(stdout).not.toContain('SUBSCRIBE');
    });

    it('says whether there are other locks in the schema', async () => {
      const config = join(folder, 'own.mjs');
      const entry = new URL('../../../dist/cjs/postgres.js', import.meta.url).href;
      const connection = JSON.stringify(server.url);
      const text = `import { postgresStore } from '${entry}';\nexport default { store: postgresStore({ connection: ${connection} }) };`;
      await writeFile(config, text);
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
