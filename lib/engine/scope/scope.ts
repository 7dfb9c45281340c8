import type { AsyncLocalStorage } from 'node:async_hooks';
import { scopeStorage } from '../../common/own-context.js';
import type { LockHandle } from '../../model/lock-handle.js';

/** What a scope owns: one hold, or several that were taken together. */
export interface ScopeOwner extends LockHandle {
  /** Tells the holds of one engine from those of another. */
  readonly origin: object;
  readonly isOver: boolean;
  /** Its hold of one of its keys. */
  holdOf(key: string): ScopeOwner | undefined;
}

/**
 * One link of the immutable chain of scopes (B51). A scope sees its own hold and those of its ancestors; what runs on
 * after a scope has ended finds it closed and sees nothing of it (B53).
 */
export interface Scope {
  readonly parent: Scope | undefined;
  readonly owner: ScopeOwner | undefined;
  /** Set where the scope was opened before it is known what it will own. */
  readonly handler: HandlerScope | undefined;
  open: boolean;
}

// Only scopes of this module are put into it.
const scopes = scopeStorage as AsyncLocalStorage<Scope | undefined>;

/** Closed links are left out, so that work that starts work for ever doesn't grow a chain for ever. */
function firstOpen(scope: Scope | undefined): Scope | undefined {
  let link = scope;
  while (link !== undefined && !link.open) link = link.parent;
  return link;
}

/** The scope that the running code is in, to be looked at later. */
export function scopeOfCaller(): Scope | undefined {
  return scopes.getStore();
}

/** A scope that owns a hold, inside that of the running code, until it is closed. */
export function openScope(owner: ScopeOwner | undefined, handler?: HandlerScope): Scope {
  return { parent: firstOpen(scopes.getStore()), owner, handler, open: true };
}

/** Calls `fn` in a scope. */
export function callInScope<A, R>(scope: Scope, fn: (argument: A) => R, argument: A): R {
  return scopes.run(scope, fn, argument);
}

/** Runs `fn` in a scope that owns a hold, until its promise settles. */
export async function runInScope<T, O extends ScopeOwner>(
  owner: O,
  fn: (owner: O) => Promise<T> | T,
): Promise<T> {
  const scope = openScope(owner);
  try {
    return await scopes.run(scope, fn, owner);
  } finally {
    scope.open = false;
  }
}

/** The innermost hold of a key that the running code owns; with `evenIfOver` also one that ended before its scope did. */
export function innermostHold(origin: object, key: string, evenIfOver = false): ScopeOwner | undefined {
  const scope = scopes.getStore();
  if (scope === undefined) return undefined;
  for (const owner of ownersIn(scope, origin)) {
    const hold = owner.holdOf(key);
    if (hold !== undefined && (evenIfOver || !hold.isOver)) return hold;
  }
  return undefined;
}

/** The innermost hold that the running code owns, of whatever keys. */
export function innermostOwner(origin: object): ScopeOwner | undefined {
  for (const owner of ownersIn(scopes.getStore(), origin)) if (!owner.isOver) return owner;
  return undefined;
}

/** Of this engine in the open scopes from `scope` outwards, innermost first. */
function* ownersIn(scope: Scope | undefined, origin: object): Generator<ScopeOwner> {
  for (let link = firstOpen(scope); link !== undefined; link = firstOpen(link.parent)) {
    const owners = link.handler === undefined ? [link.owner] : link.handler.owners;
    for (const owner of owners) if (owner?.origin === origin) yield owner;
  }
}

/** Keys of all holds of this engine that code in that scope owns, outermost first. */
export function heldKeys(origin: object, scope: Scope | undefined): readonly string[] {
  const keys = new Set<string>();
  for (const owner of ownersIn(scope, origin)) {
    for (const key of [...owner.keys].reverse()) if (owner.holdOf(key)?.isOver === false) keys.add(key);
  }
  return [...keys].reverse();
}

/**
 * The scope of one handler call in Nest's pipeline. It is opened before it is known which locks the handler takes, and
 * carries them to the end of the response.
 */
export class HandlerScope {
  /** Innermost first. */
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

  /** The open one that the running code is in, whatever was opened inside it. */
  static current(): HandlerScope | undefined {
    for (let link = firstOpen(scopes.getStore()); link !== undefined; link = firstOpen(link.parent)) {
      if (link.handler !== undefined) return link.handler;
    }
    return undefined;
  }
}
