import { connectIoredis } from '../candidates/ioredis-client.mjs';
import { killAllActors } from './actor.mjs';
import { exitOnSignals } from './exit-on-signals.mjs';
import { startPrivateRedis } from './private-redis.mjs';
import { ServerStats } from './server-stats.mjs';

/**
 * The server that all measurements of this process use. It ends with the process, as all actors do.
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
