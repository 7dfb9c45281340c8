import type { RenewReply } from '../../lock-store.js';
import { Script } from './script.js';

export const renewScript = new Script({
  name: 'renew',
  keys: ['lock'],
  args: ['owner', 'lease'],
  many: true,
  decode: (reply) =>
    (reply as number[]).map((answer): RenewReply =>
      answer === 1 ? 'renewed' : answer === 0 ? 'gone' : 'taken',
    ),
});
