import { Script } from './script.js';

export const raiseScript = new Script({
  name: 'raise',
  keys: ['lock', 'fence'],
  args: ['owner', 'token', 'since', 'floor'],
  decode: (reply) => reply === 1,
});
