import type { LockEngine } from '../../lib/engine/lock-engine.js';
import type { KeyRunners } from '../../lib/engine/acquire/key-runner.js';
import type { LockApp } from './lock-app.js';

/** The holds and waiters that an application knows, for the message of a failing test. */
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
