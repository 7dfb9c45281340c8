import { connectIoredis } from '../candidates/ioredis-client.mjs';
import { killAllActors } from './actor.mjs';
import { exitOnSignals } from './exit-on-signals.mjs';
import { startPrivateRedis } from './private-redis.mjs';
import { ServerStats } from './server-stats.mjs';

/**
 * Starts the Redis server for all measurements of this process. The server and all actors end with the process.
 *
 * @param {string} program path of redis-server
 */
export async function openServer(program) {
  const redis = await startPrivateRedis(program);
  process.once('exit', () => {
    killAllActors();
    redis.stop();
  });
  exitOnSignals();
  return { url: redis.url, stats: new ServerStats(await connectIoredis(redis.url)) };
}
