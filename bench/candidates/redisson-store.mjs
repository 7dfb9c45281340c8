import { redissonStore } from '../../dist/esm/redisson.js';
import { openWith } from './ours.mjs';

/** This library on the locks of Redisson. */
export const name = 'redissonStore';
export const kind = 'ours';
export const settings = { withLock: {} };
export const open = openWith((redis) => ({ store: redissonStore({ redis }) }));
