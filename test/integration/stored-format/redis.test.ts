import { RedisServer } from '../../support/redis-server.js';
import { unknownFormatRules } from './unknown-format.rules.js';

unknownFormatRules('Redis', async () => {
  const server = await RedisServer.start();
  const client = server.client();
  await client.hset('lock:@:format', 'format', '2 3.0.0');
  return {
    module: { redis: server.url },
    names: async () => (await client.keys('*')).sort(),
    close: () => server.close(),
  };
});
