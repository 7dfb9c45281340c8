import type { LockEngine } from '../../lib/engine/lock-engine.js';
import type { KeyRunners } from '../../lib/engine/key-runner.js';
import type { LockApp } from './lock-app.js';

/** What an application believes to hold and to wait for, so that a test that fails tells who has forgotten what. */
export function knownBy(app: LockApp): string {
  const { engine } = app.locks as unknown as { readonly engine: LockEngine };
  const { keys } = engine as unknown as { readonly keys: KeyRunners };
  const leases = [...engine.leases.all].map(
    ({ owner, limit, users, isParked, state }) =>
      `${owner} (limit ${limit}, ${users} users, ${isParked ? 'parked' : state})`,
  );
  const waits = keys.all.map(({ key, machine: { waiting, leases } }) => {
    return `${key}: ${waiting.size} wait, ${leases.length} leases`;
  });
  const asking = keys.unanswered.map(([owner]) => owner);
  const { clientId } = engine;
  return `${clientId} holds [${leases.join(', ')}], has queues [${waits.join(', ')}], asks for [${asking.join(', ')}]`;
}
