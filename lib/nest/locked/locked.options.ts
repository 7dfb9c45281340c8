import type { Observable } from 'rxjs';
import { checkKey, checkKeys, type LockKey } from '../../model/lock-key.js';
import type { LockOptions } from '../../model/lock.options.js';
import {
  DECORATED,
  LOCK_OPTION_NAMES,
  resolveLockOptions,
  type DecoratedCall,
} from '../../model/resolved-lock.options.js';
import { DEFAULT_NAME } from '../../model/lock-name.js';
import { check, checkNames, checkObject, checkOneOf } from '../../model/option-checks.js';

/** What `onBusy` may be, for decorators of your own. That it fits a method is checked where both are known, by {@link LockedDecorator}. */
export type OnBusy<This extends object> =
  'throw' | 'skip' | ((this: This, ...args: never) => unknown) | undefined;

/**
 * Options of `@Locked`: those of `withLock`, and which key and what to do when the lock is busy. `This` is the class of
 * the method, `Busy` the type of `onBusy`.
 */
export type LockedOptions<
  Args extends readonly unknown[],
  This extends object = object,
  Busy extends OnBusy<This> = 'throw',
> = LockOptions & {
  /**
   * The key, or several that are taken together, or a function that makes it or them from the method's own arguments;
   * `this` in it is the instance, unless it is an arrow function.
   */
  readonly key: LockKey | ((this: This, ...args: Args) => LockKey);
  /**
   * What a call does when others held the lock until `waitTime` ended. `'throw'`: it fails with `LockTimeoutError`.
   * `'skip'`: the method is not called and the call resolves to `undefined`, which the method's type has to allow
   * (`Promise<void>`, `Promise<Stock | undefined>`); a stream completes without a value, which every Observable may. A
   * function of the method's arguments gives the result instead: what the method resolves to, or a promise of it; for a
   * stream an Observable, one value, or `undefined` for none. Never applies to an unavailable store.
   *
   * @default 'throw'
   */
  // The function at the end is there for the compiler to know `this` by; nobody can write one.
  readonly onBusy?: Busy | 'throw' | ((this: This, ...args: never) => never) | undefined;
  /** The `name` of the module instance whose locks are used. */
  readonly instance?: string | undefined;
  /**
   * What the method returns. Only for compilers that emit no decorator metadata (esbuild), and only where a method that
   * is not `async` returns an Observable outside of Nest's handlers: otherwise it is known by itself.
   */
  readonly returns?: 'promise' | 'observable' | undefined;
};

/** What a busy call gives in place of the method's result, after awaiting. */
type BusyResult<Busy> = Busy extends 'skip'
  ? undefined
  : Busy extends (...args: never) => infer Result
    ? Awaited<Result>
    : never;

/** What may stand in place of a method's result. */
type InPlaceOf<Result> =
  Result extends Observable<infer Value> ? Value | Observable<Value> | undefined : Awaited<Result>;

/** Whether a function that takes `Given` can be called with `Args`. */
type Takes<Given extends readonly unknown[], Args extends readonly unknown[]> = ((
  ...args: Given
) => void) extends (...args: Args) => void
  ? true
  : false;

type BusyTakes<Busy, Args extends readonly unknown[]> =
  Extract<Busy, (...args: never) => unknown> extends (...args: infer Given) => unknown
    ? [Given] extends [never]
      ? true
      : Takes<Given, Args>
    : true;

/** Says what is wrong where options and a method don't fit. The compiler shows the names of the properties. */
type Fits<KeyArgs extends readonly unknown[], Busy, Method> = Method extends (
  ...args: infer Args
) => infer Result
  ? Takes<KeyArgs, Args> extends false
    ? { readonly 'the key function must take the parameters of the method': never }
    : BusyTakes<Busy, Args> extends false
      ? { readonly 'onBusy must take the parameters of the method': never }
      : [BusyResult<Busy>] extends [InPlaceOf<Result>]
        ? unknown
        : 'skip' extends Busy
          ? {
              readonly "onBusy: 'skip' resolves to undefined, so the method must return Promise<void> or Promise<T | undefined>": never;
            }
          : { readonly 'onBusy must give what the method resolves to': never }
  : never;

/** Decorates methods that return a promise or an Observable, take what the key function takes, and fit `onBusy`. */
export type LockedDecorator<
  KeyArgs extends readonly unknown[],
  This extends object = object,
  Busy extends OnBusy<This> = 'throw',
> = <Method extends (...args: never) => Promise<unknown> | Observable<unknown>>(
  target: This,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method> & Fits<KeyArgs, Busy, Method>,
) => void;

const KNOWN = new Set<string>([...LOCK_OPTION_NAMES, 'key', 'onBusy', 'instance', 'returns']);

type UnknownFunction = (this: unknown, ...args: unknown[]) => unknown;

/** The same options with their parts told apart. */
export interface ResolvedLockedOptions {
  readonly key: LockKey | UnknownFunction;
  readonly onBusy: 'throw' | 'skip' | UnknownFunction;
  readonly instance: string | undefined;
  readonly returns: 'promise' | 'observable' | undefined;
  readonly lock: LockOptions & { readonly [DECORATED]: DecoratedCall };
}

/** Checks everything that is known when the class is defined. */
export function resolveLockedOptions<
  Args extends readonly unknown[],
  This extends object,
  Busy extends OnBusy<This>,
>(
  where: string,
  given: string | LockedOptions<Args, This, Busy>,
  name = DEFAULT_NAME,
): ResolvedLockedOptions {
  if (typeof given === 'string') {
    const key = checkKey(where, given);
    return {
      key,
      onBusy: 'throw',
      instance: undefined,
      returns: undefined,
      lock: { [DECORATED]: { name, skips: false } },
    };
  }
  checkNames(where, checkObject(where, given), KNOWN);
  const { key, onBusy = 'throw', instance, returns, ...lock } = given;
  const isReaction = onBusy === 'throw' || onBusy === 'skip' || typeof onBusy === 'function';
  check(isReaction, where, "onBusy must be 'throw', 'skip' or a function", onBusy);
  if (returns !== undefined) checkOneOf(where, 'returns', returns, ['promise', 'observable']);
  // The module's waitTime is not known yet; one of 0 may be refused by the call.
  resolveLockOptions(where, lock, Infinity);
  return {
    // Called with the method's own arguments and instance only, which is what their types ask for.
    key: typeof key === 'function' ? (key as unknown as UnknownFunction) : checkKeys(where, key),
    onBusy: onBusy as 'throw' | 'skip' | UnknownFunction,
    instance,
    returns,
    lock: { ...lock, [DECORATED]: { name, skips: onBusy !== 'throw' } },
  };
}
