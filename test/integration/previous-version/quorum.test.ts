import { RedisServer } from '../../support/redis-server.js';
import { previousVersionRules } from './previous-version.rules.js';

previousVersionRules('a quorum', async () => {
  const servers = await Promise.all([RedisServer.start(), RedisServer.start(), RedisServer.start()]);
  return {
    options: { quorum: servers.map(({ url }) => url) },
    close: () => Promise.all(servers.map((server) => server.close())),
  };
});
