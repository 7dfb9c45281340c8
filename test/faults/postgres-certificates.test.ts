import { describe } from '@jest/globals';
import { X509Certificate } from 'node:crypto';
import { chown, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import pg from 'pg';
import { NOBODY } from '../../.scripts/servers/postgres.mjs';
import { postgresStore } from '../../lib/stores/postgres/index.js';
import { Endings } from '../support/endings.js';
import { PostgresServer } from '../support/postgres-server.js';
import { until } from '../support/until.js';
import { whereThereIsPostgres } from '../support/where-there-is.js';
import { certificateRules, type SecureServer } from './rules/certificates.rules.js';

const { Client } = pg as unknown as {
  Client: new (options: object) => {
    readonly connection: { readonly stream: TLSSocket };
    connect(): Promise<unknown>;
    end(): Promise<void>;
  };
};

/** The fingerprint of the certificate that new connections get. */
async function servedBy(port: number): Promise<string | undefined> {
  const ssl = { rejectUnauthorized: false };
  const client = new Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres', ssl });
  await client.connect();
  const served = client.connection.stream.getPeerX509Certificate()?.fingerprint256;
  await client.end();
  return served;
}

async function startPostgres(directory: string): Promise<SecureServer> {
  const file = (name: string): string => join(directory, name);
  /** PostgreSQL requires that it owns the key. */
  const ownKey = async (): Promise<void> => {
    const { uid, gid } = NOBODY;
    if (uid !== undefined) for (const path of [directory, file('server.key')]) await chown(path, uid, gid);
  };
  await ownKey();
  const server = await PostgresServer.startWithSchema({
    access: ['hostssl all shop 127.0.0.1/32 trust clientcert=verify-ca', 'hostnossl all shop all reject'],
    settings: {
      ssl: 'on',
      ssl_cert_file: file('server.crt'),
      ssl_key_file: file('server.key'),
      ssl_ca_file: file('ca.crt'),
    },
  });
  const operator = await server.client();
  await operator.query('CREATE USER shop SUPERUSER');
  return {
    port: server.port,
    reload: async () => {
      await ownKey();
      await operator.query('SELECT pg_reload_conf()');
      const { fingerprint256 } = new X509Certificate(await readFile(file('server.crt')));
      await until('it is served', async () => (await servedBy(server.port)) === fingerprint256);
    },
    close: () => server.close(),
  };
}

whereThereIsPostgres('certificates of PostgreSQL', () => {
  const endings = new Endings();

  describe('getters in the options of PostgreSQL', () => {
    certificateRules({
      endings,
      start: startPostgres,
      expired: /certificate expired/,
      keepsFormer: false,
      options: (port, tls) => ({
        store: postgresStore({
          connection: { host: '127.0.0.1', port, user: 'shop', database: 'postgres', ssl: tls },
        }),
      }),
    });
  });
});
