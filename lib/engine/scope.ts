import { AsyncLocalStorage } from 'node:async_hooks';
import type { Hold } from './hold.js';
import type { LockEngine } from './lock-engine.js';

/**
 * One link of the immutable chain of scopes (B51). A scope sees its own hold and those of its ancestors; what runs on
 * after a scope has ended finds it closed and sees nothing of it (B53).
 */
export interface Scope {
  readonly parent: Scope | undefined;
  readonly hold: Hold | undefined;
  readonly handler: HandlerScope | undefined;
  open: boolean;
}

const scopes = new AsyncLocalStorage<Scope | undefined>();

/**
 * Calls listeners outside of every scope. The engine calls them from timers, sockets and other callers' requests, whose
 * scopes are not theirs: a lock taken in there would be re-entry of a stranger's hold (B51).
 */
export function outsideScopes(fn: () => void): void {
  scopes.run(undefined, fn);
}

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

/** A scope that owns `hold`, inside that of the running code, until it is closed. */
export function openScope(hold: Hold): Scope {
  return { parent: firstOpen(scopes.getStore()), hold, handler: undefined, open: true };
}

/** Calls `fn` in a scope. */
export function callInScope<A, R>(scope: Scope, fn: (argument: A) => R, argument: A): R {
  return scopes.run(scope, fn, argument);
}

/** Runs `fn` in a scope that owns `hold`, until its promise settles. */
export async function runInScope<T>(hold: Hold, fn: (hold: Hold) => Promise<T> | T): Promise<T> {
  const scope = openScope(hold);
  try {
    return await scopes.run(scope, fn, hold);
  } finally {
    scope.open = false;
  }
}

/**
 * The innermost hold of this engine that the running code owns, of `key` or of any key; with `evenIfOver` also one that
 * ended before its scope did.
 */
export function innermostHold(engine: LockEngine, key?: string, evenIfOver = false): Hold | undefined {
  const scope = scopes.getStore();
  if (scope === undefined) return undefined;
  for (const hold of holdsIn(scope, engine)) {
    if ((key === undefined || hold.key === key) && (evenIfOver || !hold.isOver)) return hold;
  }
  return undefined;
}

/** The holds of this engine in the open scopes from `scope` outwards, innermost first. */
function* holdsIn(scope: Scope | undefined, engine: LockEngine): Generator<Hold> {
  for (let link = firstOpen(scope); link !== undefined; link = firstOpen(link.parent)) {
    const holds = link.handler === undefined ? [link.hold] : link.handler.holds;
    for (const hold of holds) if (hold?.engine === engine) yield hold;
  }
}

/** Keys of all holds of this engine that code in that scope owns, outermost first. */
export function heldKeys(engine: LockEngine, scope: Scope | undefined): readonly string[] {
  const keys = new Set<string>();
  for (const hold of holdsIn(scope, engine)) if (!hold.isOver) keys.add(hold.key);
  return [...keys].reverse();
}

/**
 * The scope of one handler call in Nest's pipeline. It is opened before it is known which locks the handler takes, and
 * carries them to the end of the response.
 */
export class HandlerScope {
  private readonly owned: Hold[] = [];
  private readonly scope: Scope;

  /** @param call whatever the opener wants to find again from inside */
  constructor(readonly call: object) {
    this.scope = { parent: firstOpen(scopes.getStore()), hold: undefined, handler: this, open: true };
  }

  /** Innermost first. */
  get holds(): readonly Hold[] {
    return this.owned;
  }

  own(hold: Hold): void {
    this.owned.unshift(hold);
  }

  run<T>(fn: () => T): T {
    return scopes.run(this.scope, fn);
  }

  close(): void {
    this.scope.open = false;
  }

  /** The handler scope that the running code is in, whatever was opened inside it. */
  static current(): HandlerScope | undefined {
    for (let link = firstOpen(scopes.getStore()); link !== undefined; link = firstOpen(link.parent)) {
      if (link.handler !== undefined) return link.handler;
    }
    return undefined;
  }
}
