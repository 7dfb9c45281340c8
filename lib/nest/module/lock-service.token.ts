import { LockService } from '../../api/lock.service.js';
import { LockOptionsError } from '../../model/lock.errors.js';
import { shown } from '../../model/option-checks.js';

/** What `DistributedLockModule` provides its `LockService` under: the class itself, or a token of its name. */
export function getLockServiceToken(name?: string): typeof LockService | string {
  if (name === undefined) return LockService;
  if (typeof name !== 'string' || name === '') {
    throw new LockOptionsError(
      `The name of a lock module must be a non-empty string, or be left out; got ${shown(name)}.`,
    );
  }
  return `LockService of DistributedLockModule.forRoot({ name: '${name}' })`;
}

/** What to write where there is no such service. */
export function importOf(name: string | undefined): string {
  return `DistributedLockModule.forRoot(${name === undefined ? '…' : `{ name: '${name}', … }`})`;
}
