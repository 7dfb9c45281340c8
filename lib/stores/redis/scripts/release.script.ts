import { Script } from './script.js';

export const releaseScript = new Script({
  name: 'release',
  keys: ['lock', 'queue', 'waiters', 'gone', 'fence'],
  args: ['owner', 'tombstone', 'channels'],
  decode: (reply) => reply as 'released' | 'handed-over' | 'not-held',
});
