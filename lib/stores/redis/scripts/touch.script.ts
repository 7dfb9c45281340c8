import { Script } from './script.js';

export const touchScript = new Script({
  name: 'touch',
  keys: ['lock'],
  args: ['owner'],
  decode: (reply) => reply === 1,
});
