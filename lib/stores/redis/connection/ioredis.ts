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
