import type { LockEngine } from '../../lib/engine/lock-engine.js';
import type { LocalQueues } from '../../lib/engine/queue/local-queues.js';
import type { LockApp } from './lock-app.js';

/** What an application believes to hold and to wait for, so that a test that fails tells who has forgotten what. */
export function knownBy(app: LockApp): string {
  const { engine } = app.locks as unknown as { readonly engine: LockEngine };
  const { queues } = engine as unknown as { readonly queues: LocalQueues };
  const leases = [...engine.context.leases.all].map(
    ({ owner, limit, users, isParked, state }) =>
      `${owner} (limit ${limit}, ${users} users, ${isParked ? 'parked' : state})`,
  );
  const waits = queues.all.map(({ key, waiting, leases }) => {
    return `${key}: ${waiting.size} wait, ${leases.size} leases`;
  });
  const asking = queues.unanswered.map(([owner]) => owner);
  const { clientId } = engine.context;
  return `${clientId} holds [${leases.join(', ')}], has queues [${waits.join(', ')}], asks for [${asking.join(', ')}]`;
}
