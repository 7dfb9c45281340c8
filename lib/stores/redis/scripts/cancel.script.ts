import { Script } from './script.js';

export const cancelScript = new Script({
  name: 'cancel',
  keys: ['lock', 'queue', 'waiters', 'gone', 'fence'],
  args: ['owner', 'tombstone'],
  decode: (reply) => reply as 'cancelled',
});
