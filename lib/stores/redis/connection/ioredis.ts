import type * as Ioredis from 'ioredis';
import { LockOptionsError } from '../../../model/lock.errors.js';
import { refuseMissingPeer } from '../../../model/missing-peer.js';

/**
 * Loads ioredis, which applications with another store do not install.
 *
 * @throws LockOptionsError if it is not installed
 */
export function ioredis(): typeof Ioredis {
  try {
    return unlessMock(require('ioredis') as typeof Ioredis);
  } catch (error) {
    return refuseMissingPeer('DistributedLockModule: locks in Redis', 'ioredis', error);
  }
}

/** A test may have replaced the package, by `jest.mock('ioredis')` for example. */
function unlessMock(module: typeof Ioredis): typeof Ioredis {
  // Its own types say that it can be nothing else.
  const Redis = module.Redis as unknown;
  if (typeof Redis === 'function' && !('_isMockFunction' in Redis) && !Redis.name.includes('Mock')) {
    const { prototype } = Redis as { readonly prototype?: { readonly sendCommand?: unknown } };
    if (typeof prototype?.sendCommand === 'function') return module;
  }
  throw new LockOptionsError(
    'DistributedLockModule: the package ioredis is replaced by a mock, which does not run the Lua scripts of locks. ' +
      "In tests use store: 'memory', or a real server.",
  );
}

/**
 * Sends a command whose arguments and reply stay as they are. The application may have set transformers for the commands
 * of all clients (`Command.setReplyTransformer`); ioredis finds them by the name in lower case.
 *
 * @param name in upper case
 */
export function plainCommand<Reply>(
  redis: Ioredis.Redis,
  name: string,
  ...args: readonly (string | number)[]
): Promise<Reply> {
  return redis.call(name, [...args]) as Promise<Reply>;
}
