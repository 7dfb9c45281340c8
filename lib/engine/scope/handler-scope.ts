import type { LockHandle } from '../../model/lock-handle.js';
import { callInScope, handlerOfCaller, openScope, type HandlerOwners, type ScopeOwner } from './scope.js';

/**
 * The scope of one handler call in Nest's pipeline. It is opened before it is known which locks the handler takes, and
 * carries them to the end of the response.
 */
export class HandlerScope implements HandlerOwners {
  readonly owners: ScopeOwner[] = [];
  private readonly scope = openScope(undefined, this);

  /** @param call whatever the opener wants to find again from inside */
  constructor(readonly call: object) {}

  /** Handles that an application has made itself, as for its tests, are in no scope. */
  own(handle: LockHandle): void {
    if ('holdOf' in handle) this.owners.unshift(handle as ScopeOwner);
  }

  run<T>(fn: () => T): T {
    return callInScope(this.scope, fn, undefined);
  }

  close(): void {
    this.scope.open = false;
  }

  /** The handler scope that the running code is in. */
  static current(): HandlerScope | undefined {
    const handler = handlerOfCaller();
    return handler instanceof HandlerScope ? handler : undefined;
  }
}
