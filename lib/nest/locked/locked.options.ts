import type { Observable } from 'rxjs';
import { checkKeys, type LockKey } from '../../model/lock-key.js';
import {
  DECORATED,
  LOCK_OPTION_NAMES,
  resolveLockOptions,
  type DecoratedCall,
  type LockOptions,
} from '../../model/lock.options.js';
import { DEFAULT_OPERATION } from '../../model/lock-kind.js';
import { check, checkNames, checkObject, checkOneOf } from '../../model/option-checks.js';

/** The type of `onBusy`, for decorators of your own. {@link LockedDecorator} checks that it fits the method. */
export type OnBusy<This extends object> =
  'throw' | 'skip' | ((this: This, ...args: never) => unknown) | undefined;

/**
 * Options of `@Locked`: those of `withLock`, the key, and what to do when the lock is busy. `This` is the class of the
 * method, `Busy` the type of `onBusy`.
 */
export type LockedOptions<
  Args extends readonly unknown[],
  This extends object = object,
  Busy extends OnBusy<This> = 'throw',
> = LockOptions & {
  /**
   * The key, several keys that are acquired together, or a function that returns either from the method's arguments. Unless
   * it is an arrow function, its `this` is the instance.
   */
  readonly key: LockKey | ((this: This, ...args: Args) => LockKey);
  /**
   * What a call does if others held the lock until `waitTime` ended. `'throw'`: it fails with `LockTimeoutError`. `'skip'`:
   * the method is not called and the call resolves to `undefined`, which the method's type has to allow (`Promise<void>`,
   * `Promise<Stock | undefined>`); a stream completes without a value. A function of the method's arguments returns the
   * result instead: a value that the method may resolve to, or a promise of it; for a stream an Observable, one value, or
   * `undefined` for an empty stream. Does not apply to an unavailable store.
   *
   * @default 'throw'
   */
  // The last member only lets the compiler infer `this`; no function has that type.
  readonly onBusy?: Busy | 'throw' | ((this: This, ...args: never) => never) | undefined;
  /** The `name` of the module instance to use. */
  readonly instance?: string | undefined;
  /**
   * What the method returns. Needed only with compilers that emit no decorator metadata (esbuild), for a method that is not
   * `async`, is not a handler, and returns an Observable; otherwise the library finds out itself.
   */
  readonly returns?: 'promise' | 'observable' | undefined;
};

/** The result of a busy call, awaited. */
type BusyResult<Busy> = Busy extends 'skip'
  ? undefined
  : Busy extends (...args: never) => infer Result
    ? Awaited<Result>
    : never;

/** The types that may replace a method's result. */
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

/** If the options don't fit the method, a type with a property whose name says why, which the compiler shows. */
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

/** Decorates methods that return a promise or an Observable, have the parameters of the key function, and fit `onBusy`. */
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

/** The options of `@Locked`, checked, apart from those of the lock. */
export interface ResolvedLockedOptions {
  readonly key: LockKey | UnknownFunction;
  readonly onBusy: 'throw' | 'skip' | UnknownFunction;
  readonly instance: string | undefined;
  readonly returns: 'promise' | 'observable' | undefined;
  readonly lock: LockOptions & { readonly [DECORATED]: DecoratedCall };
}

/** Checks what is known when the class is defined. */
export function resolveLockedOptions<
  Args extends readonly unknown[],
  This extends object,
  Busy extends OnBusy<This>,
>(
  where: string,
  given: string | LockedOptions<Args, This, Busy>,
  operation = DEFAULT_OPERATION,
): ResolvedLockedOptions {
  const options = typeof given === 'string' ? { key: given } : given;
  checkNames(where, checkObject(where, options), KNOWN);
  const { key, onBusy = 'throw', instance, returns, ...lock }: LockedOptions<Args, This, Busy> = options;
  const isReaction = onBusy === 'throw' || onBusy === 'skip' || typeof onBusy === 'function';
  check(isReaction, where, "onBusy must be 'throw', 'skip' or a function", onBusy);
  if (returns !== undefined) checkOneOf(where, 'returns', returns, ['promise', 'observable']);
  // The module's waitTime is not known yet; the call checks it again.
  resolveLockOptions(where, lock, Infinity);
  return {
    // Called only with the arguments and the instance of the method, which the types have checked.
    key: typeof key === 'function' ? (key as unknown as UnknownFunction) : checkKeys(where, key),
    onBusy: onBusy as 'throw' | 'skip' | UnknownFunction,
    instance,
    returns,
    lock: { ...lock, [DECORATED]: { operation, skips: onBusy !== 'throw' } },
  };
}
