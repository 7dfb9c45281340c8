import { LockStoreError } from '../../port/lock-store.js';
import { adviceOn, answerLost, notConnectedTo } from '../../port/store-failure.js';
import { redisRemedies } from './redis-remedies.js';

/** Answers by which Redis refuses a request before it does anything, and which pass (P32). */
const TEMPORARY_REFUSALS = new Set([
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

/** Answers of a node that can't reach the one which keeps the lock. */
const NODE_DOWN = new Set(['MASTERDOWN', 'CLUSTERDOWN']);

/** Answers by which Redis refuses a request however often it is asked. */
const PERMANENT_REFUSALS = new Set(['NOPERM', 'NOAUTH', 'WRONGPASS', 'CROSSSLOT']);

/** The slot is, or is on its way to, another server of the cluster. */
export class RedirectedError extends LockStoreError {
  /** Where to go: for good, or once, while the slot is on its way. */
  readonly kind: 'moved' | 'ask';
  /** `host:port` as the cluster says it. */
  readonly address: string;

  constructor(message: string, kind: 'moved' | 'ask', address: string) {
    super(`Redis answered "${message}"`, { inDoubt: false, retryable: true });
    this.kind = kind;
    this.address = address;
  }
}

/** The connection is down, so the request was not sent. */
export function notConnected(cause: Error | undefined): LockStoreError {
  const why = cause && withoutPause(cause.message);
  return notConnectedTo('Redis', withoutCommand(cause), cause?.name === 'ReplyError', redisRemedies, why);
}

/** ioredis tells how long it waits before it looks for a Sentinel again: each time a new reason, for the same state. */
function withoutPause(message: string): string {
  return message.replace(/ Retrying from scratch after [\d.]+ms\./, '');
}

/** What a failed request tells about whether it was carried out. */
export function redisFailure(error: unknown, connectionError: Error | undefined): LockStoreError {
  if (error instanceof LockStoreError) return error;
  const { name, message } = error as Error;
  if (name === 'ReplyError') return refusal(message, withoutCommand(error as Error));
  if (message.startsWith("Stream isn't writeable")) return notConnected(connectionError);
  return answerLost('Redis', withoutCommand(connectionError ?? (error as Error)), redisRemedies);
}

/** What an error that Redis answered tells about whether the request was carried out. */
export function refusal(message: string, cause?: Error): LockStoreError {
  const code = codeOf(message);
  if (code === 'MOVED' || code === 'ASK') {
    return new RedirectedError(message, code === 'MOVED' ? 'moved' : 'ask', message.split(' ')[2] ?? '');
  }
  const isTemporary = TEMPORARY_REFUSALS.has(code);
  const ranBefore = message.includes('script');
  return new LockStoreError(`Redis answered "${message}"`, {
    inDoubt: !isTemporary && (ranBefore || !PERMANENT_REFUSALS.has(code)),
    retryable: isTemporary,
    unreachable: NODE_DOWN.has(code),
    remedy: adviceOn(message, redisRemedies),
    cause,
  });
}

/** Redis 6.2 wraps what a command in a script answered; such a refusal comes before the script has written anything. */
function codeOf(message: string): string {
  const [first = ''] = message.split(' ', 1);
  const wrapped = first === 'ERR' ? /@user_script: ?\d+: -?([A-Z]+) /.exec(message) : null;
  return wrapped?.[1] ?? first;
}

/** ioredis attaches the command with its arguments, which for AUTH and HELLO are passwords. */
function withoutCommand(error: Error | undefined): Error | undefined {
  if (error !== undefined && 'command' in error) {
    const copy = new Error(error.message);
    copy.name = error.name;
    return copy;
  }
  return error;
}
