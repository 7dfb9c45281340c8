import type * as Ioredis from 'ioredis';
import { refuseMissingPeer } from '../../../model/missing-peer.js';

/**
 * Loads ioredis, which applications with another store do not install.
 *
 * @throws LockOptionsError if it is not installed
 */
export function ioredis(): typeof Ioredis {
  try {
    return require('ioredis') as typeof Ioredis;
  } catch (error) {
    return refuseMissingPeer('DistributedLockModule: locks in Redis', 'ioredis', error);
  }
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
