import { createSecureContext } from 'node:tls';
import type { ClusterOptions, RedisOptions } from 'ioredis';
import { LockOptionsError } from '../../../model/lock.errors.js';
import { inTime } from '../../port/times.js';

/** A text, or a function that returns it: called before each attempt to connect, for values that change. */
export type RedisCredential = string | (() => string | Promise<string>);

const NAMES = ['username', 'password', 'sentinelUsername', 'sentinelPassword'] as const;
type CredentialName = (typeof NAMES)[number];
const TLS_NAMES = ['tls', 'sentinelTLS'] as const;

/** Options of ioredis whose credentials may be functions. */
export type WithCredentials<Options> = Omit<Options, CredentialName> &
  Readonly<Partial<Record<CredentialName & keyof Options, RedisCredential | undefined>>>;

/** Options of a Redis Cluster whose credentials may be functions. */
export type ClusterOptionsWithCredentials = Omit<ClusterOptions, 'redisOptions'> & {
  readonly redisOptions?: WithCredentials<NonNullable<ClusterOptions['redisOptions']>> | undefined;
};

/** Where user, password and certificates are read: the user's options or client, which may change while the application runs. */
export type CredentialSource = Partial<Record<CredentialName | (typeof TLS_NAMES)[number], unknown>>;

/** How long a function may take, ms. */
const LONGEST = 5_000;

/** The options for ioredis, which takes no functions: it gets what they return, by {@link renewCredentials}. */
export function withoutFunctions(options: CredentialSource): RedisOptions {
  const functions = NAMES.filter((name) => typeof options[name] === 'function');
  return { ...options, ...Object.fromEntries(functions.map((name) => [name, undefined])) } as RedisOptions;
}

/**
 * Writes the present user, password and certificates into the options of a client, which ioredis reads whenever it connects.
 * Rejects if a function or getter throws, takes too long or returns no text, and if certificates can't be used, which would
 * end the client for ever; then the former value stays.
 */
export async function renewCredentials(source: CredentialSource, options: RedisOptions): Promise<void> {
  const each = NAMES.map(async (name) => {
    const given = source[name] as RedisCredential | null | undefined;
    if (given === undefined) return;
    const value: unknown =
      typeof given === 'function'
        ? await inTime(LONGEST, given, `${name}() of redis returned nothing`)
        : given;
    if (typeof given === 'function' && typeof value !== 'string')
      throw new LockOptionsError(`DistributedLockModule: ${name}() of redis must return a string.`);
    options[name] = value as string;
  });
  try {
    for (const name of TLS_NAMES) {
      const given = source[name];
      // ioredis replaces the name of a profile by the profile itself.
      if (typeof given !== 'object' || given === null || 'profile' in given) continue;
      const read = { ...given };
      createSecureContext(read);
      options[name] = read;
    }
  } finally {
    await Promise.all(each);
  }
}
