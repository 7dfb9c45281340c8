import type { AsyncLocalStorage } from 'node:async_hooks';
import { isPromiseLike } from '../common/deferred.js';
import { scopeStorage } from '../common/detached-context.js';
import { refusalOf } from '../model/late-work.js';
import { type LockLostError, originate } from '../model/lock.errors.js';
import type { LockHandle } from '../model/lock-handle.js';

/** What a scope owns: one hold, or several that were acquired together. */
export interface ScopeOwner extends LockHandle {
  /** The engine that granted the hold. */
  readonly engine: object;
  readonly isOver: boolean;
  /** Ends it if its lease has run out; returns the loss, if it was lost before it was released. */
  expire(): LockLostError | undefined;
  /** The hold of one of its keys. */
  holdOf(key: string): ScopeOwner | undefined;
}

/**
 * One link of the immutable chain of scopes. A scope sees its own hold and those of its ancestors. Work that
 * outlives the scope finds it closed, and what it acquires then is a new acquisition.
 */
export interface Scope {
  readonly parent: Scope | undefined;
  readonly owner: ScopeOwner | undefined;
  /** For a scope that was opened before it is known what it will own. */
  readonly handler: HandlerScope | undefined;
  open: boolean;
}

// Only this module stores scopes in it.
const scopes = scopeStorage as AsyncLocalStorage<Scope | undefined>;

/** Skips closed links, so that work which keeps starting work does not grow an endless chain. */
function firstOpen(scope: Scope | undefined): Scope | undefined {
  let link = scope;
  while (link !== undefined && !link.open) link = link.parent;
  return link;
}

/** The scope of the calling code. */
export function scopeOfCaller(): Scope | undefined {
  return scopes.getStore();
}

/** Opens a scope that owns a hold, inside that of the calling code. */
export function openScope(owner: ScopeOwner | undefined, handler?: HandlerScope): Scope {
  return { parent: firstOpen(scopes.getStore()), owner, handler, open: true };
}

/** Calls `fn` in a scope. */
export function callInScope<A, R>(scope: Scope, fn: (argument: A) => R, argument: A): R {
  return scopes.run(scope, fn, argument);
}

/** Runs work in a scope. A lazy thenable, such as a query builder, begins when `then` is called: that is in the scope, too. */
export function workInScope<A, T>(
  scope: Scope,
  fn: (argument: A) => PromiseLike<T> | T,
  argument: A,
): PromiseLike<T> | T {
  const outcome = scopes.run(scope, fn, argument);
  if (!isPromiseLike(outcome) || outcome.then === Promise.prototype.then) return outcome;
  return scopes.run(scope, begun<T>, outcome);
}

function begun<T>(thenable: PromiseLike<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    thenable.then(resolve, reject);
  });
}

/** Runs `fn` in a scope that owns a hold, until its promise settles. */
export async function runInScope<T, O extends ScopeOwner>(
  owner: O,
  fn: (owner: O) => Promise<T> | T,
): Promise<T> {
  const scope = openScope(owner);
  try {
    const result = await workInScope(scope, fn, owner);
    const refused = refusalOf('handle.run(): the function', result);
    if (refused === undefined) return result;
    throw originate(refused, owner.engine);
  } finally {
    scope.open = false;
  }
}

/**
 * The innermost hold of a key that the calling code owns, of this engine or of any; with `evenIfOver` also one that
 * ended before its scope did.
 */
export function innermostHold(
  engine: object | undefined,
  key: string,
  evenIfOver = false,
): ScopeOwner | undefined {
  const scope = scopes.getStore();
  if (scope === undefined) return undefined;
  for (const owner of ownersIn(scope, engine)) {
    const hold = owner.holdOf(key);
    if (hold !== undefined && (evenIfOver || !hold.isOver)) return hold;
  }
  return undefined;
}

/**
 * The innermost hold that the calling code owns, of a key or of any, of this engine or of any.
 *
 * @throws LockLostError if that hold was lost
 */
export function currentHold(engine: object | undefined, key: string | undefined): ScopeOwner | undefined {
  for (const owner of ownersIn(scopes.getStore(), engine)) {
    const hold = key === undefined ? owner : owner.holdOf(key);
    if (hold === undefined) continue;
    if (!hold.isOver) return hold;
    const lost = hold.expire();
    if (lost !== undefined) throw originate(lost, owner.engine);
  }
  return undefined;
}

/** Owners of this engine, or of any, in the open scopes from `scope` outwards, innermost first. */
function* ownersIn(scope: Scope | undefined, engine: object | undefined): Generator<ScopeOwner> {
  for (let link = firstOpen(scope); link !== undefined; link = firstOpen(link.parent)) {
    const owners = link.handler === undefined ? [link.owner] : link.handler.owners;
    for (const owner of owners) {
      if (owner !== undefined && (engine === undefined || owner.engine === engine)) yield owner;
    }
  }
}

/** Keys of all holds of this engine that a scope sees, outermost first. */
export function heldKeys(engine: object, scope: Scope | undefined): readonly string[] {
  const keys = new Set<string>();
  for (const owner of ownersIn(scope, engine)) {
    for (const key of [...owner.keys].reverse()) if (owner.holdOf(key)?.isOver === false) keys.add(key);
  }
  return [...keys].reverse();
}

/**
 * The scope of one handler call in Nest's pipeline. Opened before it is known which locks the handler acquires; keeps
 * them until the response is complete.
 */
export class HandlerScope {
  /** Innermost first. */
  readonly owners: ScopeOwner[] = [];
  private readonly scope = openScope(undefined, this);

  /** Handles that an application created itself, for example in its tests, are in no scope. */
  own(handle: LockHandle): void {
    if ('holdOf' in handle) this.owners.unshift(handle as ScopeOwner);
  }

  run<T>(fn: () => T): T {
    return callInScope(this.scope, fn, undefined);
  }

  close(): void {
    this.scope.open = false;
  }

  /** Whether the calling code runs in this scope, and in no other inside it. */
  get isInnermost(): boolean {
    return firstOpen(scopes.getStore()) === this.scope;
  }

  /** The innermost open scope around the calling code. */
  static current(): HandlerScope | undefined {
    for (let link = firstOpen(scopes.getStore()); link !== undefined; link = firstOpen(link.parent)) {
      if (link.handler !== undefined) return link.handler;
    }
    return undefined;
  }
}
