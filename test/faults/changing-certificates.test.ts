import { describe } from '@jest/globals';
import { Redis } from 'ioredis';
import { Endings } from '../support/endings.js';
import { RedisServer } from '../support/redis-server.js';
import { certificateRules, type ClientTls, type SecureServer } from './rules/certificates.rules.js';
import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { clientCertificate } from '../support/tls-files.js';

async function startRedis(directory: string): Promise<SecureServer> {
  const file = (name: string): string => join(directory, name);
  const server = await RedisServer.start({
    tls: true,
    settings: {
      'tls-cert-file': file('server.crt'),
      'tls-key-file': file('server.key'),
      'tls-ca-cert-file': file('ca.crt'),
      'tls-auth-clients': 'yes',
    },
  });
  const own = await clientCertificate(directory, 'operator');
  const ca = await readFile(file('ca.crt'), 'utf8');
  const operator = new Redis({ port: server.port, tls: { ca, ...own } });
  let size = 1_000;
  return {
    port: server.port,
    // Redis reads all its TLS files again when one of these settings changes.
    reload: () => operator.config('SET', 'tls-session-cache-size', String(++size)),
    close: async () => {
      operator.disconnect();
      await server.close();
    },
  };
}

const endings = new Endings();
const redisScene = { endings, start: startRedis, expired: /certificate expired/, keepsFormer: true };

describe('getters in the options of Redis', () => {
  const options = (port: number, tls: ClientTls) => ({ redis: { port, tls } });
  certificateRules({ ...redisScene, options });
});

describe('the changed options of a client of Redis', () => {
  const options = (port: number, tls: ClientTls) => {
    const redis = endings.until({
      client: new Redis({ port, tls: { ...tls }, lazyConnect: true }),
      close() {
        this.client.disconnect();
      },
    }).client;
    Object.defineProperty(redis.options, 'tls', { enumerable: true, get: () => ({ ...tls }) });
    return { redis };
  };
  certificateRules({ ...redisScene, options });
});
