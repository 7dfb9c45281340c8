import type { Redis, RedisOptions } from 'ioredis';
import { pauseBeforeConnecting } from '../../port/times.js';

/**
 * How long a server may take to close its end, ms. It is waited for whenever a connection ends, even for one that is down
 * already; with the 2 s of ioredis a process outlives its application by so much (B14), and a failover takes it longer
 * to leave a primary that hangs.
 */
export const DISCONNECT_TIMEOUT = 100;

/** Replies are read in the shapes that every version of ioredis has. */
export type OwnSettings = RedisOptions & { readonly replyMapping: 'legacy' };

/**
 * Nothing may be sent twice or late behind the lock's back: no queue of unsent commands, no resending after a
 * reconnect, no retries (P31). A connection that owes an answer for too long is cut, since the next one may get through.
 */
export function ownSettings(options: RedisOptions, requestTimeout: number): OwnSettings {
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    // A server that became a replica: the connection has to find the new primary. The command is not sent again.
    reconnectOnError: ({ message }) => isReadOnly(message),
    retryStrategy: (times) => pauseBeforeConnecting(times),
    enableReadyCheck: true,
    enableAutoPipelining: false,
    connectTimeout: Math.min(options.connectTimeout ?? 5_000, 5_000),
    disconnectTimeout: DISCONNECT_TIMEOUT,
    socketTimeout: requestTimeout,
    keyPrefix: '',
    stringNumbers: false,
    replyMapping: 'legacy',
    monitor: false,
    readOnly: false,
  };
}

type SentinelSetting =
  'role' | 'failoverDetector' | 'sentinelCommandTimeout' | 'sentinelRetryStrategy' | 'retryStrategy';

/** Besides {@link ownSettings}, for servers that Sentinel finds (P40). */
export function ownSentinelSettings(
  options: RedisOptions,
  requestTimeout: number,
): Pick<RedisOptions, SentinelSetting> {
  if (!options.sentinels) return {};
  return {
    role: 'master',
    // Tells of a failover before the old primary does, which may hang.
    failoverDetector: true,
    sentinelCommandTimeout: Math.min(options.sentinelCommandTimeout ?? requestTimeout, requestTimeout),
    sentinelRetryStrategy: (times) => pauseBeforeConnecting(times),
    // Sentinels name the dead primary until another one is promoted; whoever sleeps for long then finds that one late, and
    // may lose a grant that was pushed in the moment of the death, which has a lease of 2 s.
    retryStrategy: (times) => pauseBeforeConnecting(times, 250),
  };
}

/**
 * ioredis gives up for good when a sentinel tells of a failover while it is looking for the primary: the connection that
 * the news is to cut is not there yet, and it takes that for the user's wish. It begins anew until it is closed.
 */
export function reconnectingForever(client: Redis): Redis {
  let isClosed = false;
  const disconnect = client.disconnect.bind(client);
  client.disconnect = (reconnect = false) => {
    isClosed ||= !reconnect;
    disconnect(reconnect);
  };
  client.on('end', () => {
    // A failure is told by its events.
    if (!isClosed) client.connect().catch(() => undefined);
  });
  return client;
}

/** Redis 6.2 wraps what a command in a script answered. */
function isReadOnly(message: string): boolean {
  return message.startsWith('READONLY') || message.includes('-READONLY');
}
