import type { LockStoreError } from '../../port/lock-store.js';
import { problem, type Finding } from './finding.js';

export function connectionProblem({ message, remedy }: LockStoreError): Finding {
  const isDatabase = message.includes('does not have the database');
  const advice = remedy ?? 'Check the address, and that the server is up.';
  return problem(isDatabase ? 'database' : 'connection', `${message}. ${advice}`);
}
