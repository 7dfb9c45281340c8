import { LockStoreError } from '../../port/lock-store.js';
import { adviceOn, answerLost, notConnectedTo, type Remedy } from '../../port/store-failure.js';

/** Temporary errors with which Redis rejects a request before it does anything. */
const TEMPORARY = new Set([
  'MOVED',
  'ASK',
  'TRYAGAIN',
  'READONLY',
  'LOADING',
  'BUSY',
  'NOREPLICAS',
  'NOSCRIPT',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'OOM',
  'MISCONF',
]);

/** Errors of a node that cannot reach the server of the lock. */
const NODE_DOWN = new Set(['MASTERDOWN', 'CLUSTERDOWN']);

/** Errors with which Redis rejects a request every time. */
const PERMANENT = new Set(['NOPERM', 'NOAUTH', 'WRONGPASS', 'CROSSSLOT']);

/** Remedies for errors of Redis. `doctor` prints the same advice. */
export const redisRemedies: readonly Remedy[] = [
  {
    says: /NOPERM|user executing the script|ACL failure in script/,
    advice: 'Give the Redis user the rights that it lacks; the log at start and `doctor` list them.',
  },
  {
    says: /WRONGPASS|NOAUTH|invalid (username|password)|AUTH/,
    advice:
      'The server accepts neither this user nor this password, or requires one: check them, and percent-encode special characters in a URL.',
  },
  {
    says: /database|DB index/,
    advice:
      'Choose a database that exists, such as /0 at the end of the URL, or raise `databases` of the server. A Redis Cluster has only 0.',
  },
  { says: /LOADING/, advice: 'The server is reading its data from disk: wait until it has.' },
  {
    says: /max number of clients/,
    advice: 'Raise `maxclients`, or find out which client opens so many connections.',
  },
  { says: /protected mode/i, advice: 'Set a password, or `bind` and `protected-mode` as the message says.' },
  {
    says: /sentinel/i,
    advice:
      'Check the addresses of the sentinels and the name of the primary: SENTINEL get-master-addr-by-name NAME has to return its address.',
  },
  { says: /OOM/, advice: 'Redis is full: raise `maxmemory`, or move the locks to a separate server.' },
  {
    says: /READONLY/,
    advice: 'Use the address of the primary, or of Sentinel; during a failover, the error is temporary.',
  },
  { says: /MISCONF/, advice: 'Redis cannot write to its disk: its log shows why.' },
  {
    says: /NOREPLICAS|replicas connected/,
    advice:
      'Too few replicas are connected: connect them, or lower `min-replicas-to-write` or `replicas.min`.',
  },
  {
    says: /CLUSTERDOWN|MASTERDOWN/,
    advice: 'Servers of the Cluster or the primary are down: bring them back, or fail over.',
  },
  {
    says: /cluster support disabled/,
    advice:
      "It is a single server, not a node of a Cluster: give its URL, as in redis: 'redis://localhost:6379'.",
  },
  {
    says: /knows no address of a server/,
    advice: 'Set `cluster-announce-ip` on its nodes: a Cluster of one node does not know its own address.',
  },
  {
    says: /CROSSSLOT|MOVED/,
    advice: 'It is a node of a Cluster: give `redis: { nodes: […] }`, or a prefix with a hash tag.',
  },
];

/** Another server of the cluster has the slot (`moved`), or is receiving it (`ask`). */
export class RedirectedError extends LockStoreError {
  /** @param address of that server, `host:port` as the cluster reports it */
  constructor(
    message: string,
    readonly kind: 'moved' | 'ask',
    readonly address: string,
  ) {
    super(`Redis answered "${message}"`, { inDoubt: false, retryable: true });
  }
}

/**
 * A replica rejects writes. While it copies the data of its primary, it rejects every request, and a server that restarts
 * does so before the connection is ready. Redis 6.2 wraps the error of a command inside a script.
 */
export function isReplica(message: string): boolean {
  return /^(READONLY|LOADING|MASTERDOWN)\b|-(READONLY|MASTERDOWN) /.test(message);
}

/** The connection is down, so the request was not sent. */
export function notConnected(cause: Error | undefined): LockStoreError {
  // ioredis adds the pause before its next attempt, so that the same state would have a new message each time.
  const why = cause?.message.replace(/ Retrying from scratch after [\d.]+ms\./, '');
  // A server that has become a replica is left: until the next one is ready, nothing replies.
  const isRefused = cause?.name === 'ReplyError' && !isReplica(cause.message);
  return notConnectedTo('Redis', withoutCommand(cause), isRefused, redisRemedies, why);
}

/** Whether a failed request may have been carried out, and whether repeating it can help. */
export function redisFailure(error: unknown, connectionError: Error | undefined): LockStoreError {
  if (error instanceof LockStoreError) return error;
  const { name, message } = error as Error;
  if (name === 'ReplyError') return rejection(message, withoutCommand(error as Error));
  if (message.startsWith("Stream isn't writeable")) return notConnected(connectionError);
  return answerLost('Redis', withoutCommand(connectionError ?? (error as Error)), redisRemedies);
}

/** The same for an error reply of Redis. */
export function rejection(message: string, cause?: Error): LockStoreError {
  const code = codeOf(message);
  if (code === 'MOVED' || code === 'ASK') {
    return new RedirectedError(message, code === 'MOVED' ? 'moved' : 'ask', message.split(' ')[2] ?? '');
  }
  const isTemporary = TEMPORARY.has(code);
  const ranBefore = message.includes('script');
  return new LockStoreError(`Redis answered "${message}"`, {
    inDoubt: !isTemporary && (ranBefore || !PERMANENT.has(code)),
    retryable: isTemporary,
    unreachable: NODE_DOWN.has(code),
    remedy: adviceOn(message, redisRemedies),
    cause,
  });
}

/** Redis 6.2 wraps the error of a command inside a script. Such a rejection comes before the script has written anything. */
function codeOf(message: string): string {
  const [first = ''] = message.split(' ', 1);
  const wrapped = first === 'ERR' ? /@user_script: ?\d+: -?([A-Z]+) /.exec(message) : null;
  return wrapped?.[1] ?? first;
}

/** ioredis attaches the command with its arguments, which include the password for AUTH and HELLO. */
function withoutCommand(error: Error | undefined): Error | undefined {
  if (error === undefined || !('command' in error)) return error;
  const copy = new Error(error.message);
  copy.name = error.name;
  return copy;
}
