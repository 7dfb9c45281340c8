import { Script } from './script.js';

export const forceReleaseScript = new Script({
  name: 'forceRelease',
  keys: ['lock', 'queue', 'waiters', 'fence'],
  args: ['way', 'channels'],
  decode: (reply) => reply === 1,
});
