import type { Observable } from 'rxjs';
import { checkKeys, type LockKey } from '../../model/lock-key.js';
import {
  DECORATED,
  LOCK_OPTION_NAMES,
  resolveLockOptions,
  type DecoratedCall,
  type LockOptions,
} from '../../model/lock.options.js';
import { check, checkNames, checkObject, checkOneOf } from '../../model/option-checks.js';

/** The type of `onBusy`, for custom decorators. {@link LockedDecorator} checks that it fits the method. */
export type OnBusy<This extends object> =
  'throw' | 'skip' | ((this: This, ...args: never) => unknown) | undefined;

/** The options that may be functions of the method's arguments. */
const COMPUTED = ['label', 'waitTime', 'leaseTime', 'holdAtLeast', 'operation'] as const;
type Computed = (typeof COMPUTED)[number];

/** A signal is excluded: it would be the same for all calls of the method. */
type StaticOptions = DistributiveOmit<LockOptions, Computed | 'signal'>;
type DistributiveOmit<Options, Names extends PropertyKey> = Options extends unknown
  ? Omit<Options, Names>
  : never;

/**
 * Options of `@Locked`: the key, the reaction to a busy lock, and the options of `withLock` except `signal`. `This` is the
 * class of the method, `Busy` the type of `onBusy`; the other parameters are those of the functions that compute options.
 */
export type LockedOptions<
  Args extends readonly unknown[],
  This extends object = object,
  Busy extends OnBusy<This> = 'throw',
  LabelArgs extends readonly unknown[] = Args,
  WaitArgs extends readonly unknown[] = Args,
  LeaseArgs extends readonly unknown[] = Args,
  HoldArgs extends readonly unknown[] = Args,
  OperationArgs extends readonly unknown[] = Args,
> = StaticOptions & {
  /**
   * The key, several keys that are acquired together, or a function that returns either from the method's arguments.
   * Its `this` is the instance, unless it is an arrow function.
   *
   * @default the name of the class and the method, such as `'Reports.send'`
   */
  readonly key?: LockKey | ((this: This, ...args: Args) => LockKey);
  /**
   * The purpose of the lock, shown by `inspect`: 1 … 200 characters, or a function of the method's arguments that
   * returns it.
   *
   * @default none
   */
  readonly label?: LockOptions['label'] | ((this: This, ...args: LabelArgs) => LockOptions['label']);
  /**
   * How long a call waits for the lock, in ms: 0 … 2 147 483 647, or `Infinity`; 0 is a single attempt. Or a function of
   * the method's arguments that returns it. Then `onBusy` applies.
   *
   * @default the module's `waitTime` (5 000 ms)
   */
  readonly waitTime?: LockOptions['waitTime'] | ((this: This, ...args: WaitArgs) => LockOptions['waitTime']);
  /**
   * Ends the lease this long after the grant, in ms, even if the method has not ended: 10 … 2 147 483 647. Or a function of
   * the method's arguments that returns it.
   *
   * @default none: the watchdog renews the lease until the method has ended
   */
  readonly leaseTime?:
    LockOptions['leaseTime'] | ((this: This, ...args: LeaseArgs) => LockOptions['leaseTime']);
  /**
   * Keeps the lock at least this long after the grant, in ms, even if the method ends sooner: 0 … 2 147 483 647, at most
   * `leaseTime`. Or a function of the method's arguments that returns it.
   *
   * @default 0
   */
  readonly holdAtLeast?:
    LockOptions['holdAtLeast'] | ((this: This, ...args: HoldArgs) => LockOptions['holdAtLeast']);
  /**
   * The kind of work, for events, metrics and traces: 1 … 100 printable characters. Or a function of the method's
   * arguments that returns it. Use a few fixed names: metrics have a series for each.
   *
   * @default the name of the class and the method
   */
  readonly operation?:
    LockOptions['operation'] | ((this: This, ...args: OperationArgs) => LockOptions['operation']);
  /**
   * What a call does if the lock is still busy when `waitTime` ends.
   *
   * - `'throw'`: it fails with `LockTimeoutError`.
   * - `'skip'`: the method is not called and the call resolves to `undefined`, which the method's type has to allow
   *   (`Promise<void>`, `Promise<Stock | undefined>`); a stream completes without a value.
   * - A function of the method's arguments returns the result instead: a value that the method may resolve to, or a
   *   promise of it; for a stream an Observable, one value, or `undefined` for an empty stream.
   *
   * Does not apply to an unavailable store.
   *
   * @default 'throw'
   */
  // The last member only lets the compiler infer `this`; no value has that type.
  readonly onBusy?: Busy | 'throw' | ((this: This, ...args: never) => never) | undefined;
  /** The `name` of the module instance to use. */
  readonly instance?: string | undefined;
  /**
   * What the method returns. Set it only if your compiler emits no decorator metadata (esbuild) and the method returns
   * an Observable, is not `async` and is not a handler; otherwise it is detected.
   */
  readonly returns?: 'promise' | 'observable' | undefined;
};

/** The awaited result of a busy call. */
type BusyResult<Busy> = Busy extends 'skip'
  ? undefined
  : Busy extends (...args: never) => infer Result
    ? Awaited<Result>
    : never;

/** The types that may replace a method's result. */
type InPlaceOf<Result> =
  Result extends Observable<infer Value> ? Value | Observable<Value> | undefined : Awaited<Result>;

/** Whether a function with the parameters `Given` can be called with `Args`. */
type Takes<Given extends readonly unknown[], Args extends readonly unknown[]> = ((
  ...args: Given
) => void) extends (...args: Args) => void
  ? true
  : false;

/** Whether functions of each of these parameter lists can be called with `Args`. */
type AllTake<Given extends readonly unknown[], Args extends readonly unknown[]> = false extends (
  Given extends unknown ? Takes<Given, Args> : never
)
  ? false
  : true;

type BusyTakes<Busy, Args extends readonly unknown[]> =
  Extract<Busy, (...args: never) => unknown> extends (...args: infer Given) => unknown
    ? [Given] extends [never]
      ? true
      : Takes<Given, Args>
    : true;

/** If the options don't fit the method: a type with a property whose name states the reason, which the compiler shows. */
type Fits<
  KeyArgs extends readonly unknown[],
  Busy,
  ValueArgs extends readonly unknown[],
  Method,
> = Method extends (...args: infer Args) => infer Result
  ? Takes<KeyArgs, Args> extends false
    ? { readonly 'the key function must take the parameters of the method': never }
    : AllTake<ValueArgs, Args> extends false
      ? {
          readonly 'functions that compute options must take the parameters of the method': never;
        }
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

/**
 * Decorates methods that return a promise or an Observable, have the parameters of the options' functions, and fit
 * `onBusy`.
 */
export type LockedDecorator<
  KeyArgs extends readonly unknown[],
  This extends object = object,
  Busy extends OnBusy<This> = 'throw',
  ValueArgs extends readonly unknown[] = [],
> = <Method extends (...args: never) => Promise<unknown> | Observable<unknown>>(
  target: This,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method> & Fits<KeyArgs, Busy, ValueArgs, Method>,
) => void;

const KNOWN = new Set<string>(
  [...LOCK_OPTION_NAMES, 'key', 'onBusy', 'instance', 'returns'].filter((name) => name !== 'signal'),
);

type UnknownFunction = (this: unknown, ...args: unknown[]) => unknown;

/** The lock options that are the same for every call. */
export type DecoratedOptions = LockOptions & { readonly [DECORATED]: DecoratedCall };

/** The checked options of `@Locked` besides those of the lock. */
export interface ResolvedLockedOptions {
  readonly key: LockKey | UnknownFunction;
  readonly onBusy: 'throw' | 'skip' | UnknownFunction;
  readonly instance: string | undefined;
  readonly returns: 'promise' | 'observable' | undefined;
  readonly lock: DecoratedOptions;
  /** The options whose values depend on the call. */
  readonly computed: readonly (readonly [Computed, UnknownFunction])[];
}

/**
 * Checks what is known when the class is defined.
 *
 * @param given the arguments of `@Locked`
 * @param method the names of class and method: the default of `key` and `operation`
 */
export function resolveLockedOptions(
  where: string,
  given: readonly unknown[],
  method: string,
): ResolvedLockedOptions {
  // An argument that is undefined, such as a constant of a circular import, is a mistake.
  const first = given.length === 0 ? {} : given[0];
  const options = typeof first === 'string' ? { key: first } : checkObject(where, first);
  const hint = 'signal would be the same for all calls; pass it to withLock() or acquire() instead';
  check(!('signal' in options), where, hint, (options as { readonly signal?: unknown }).signal);
  checkNames(where, options, KNOWN);
  const { key = 'key' in options ? undefined : keyOf(where, method), ...others } = options as AnyOptions;
  const { onBusy = 'throw', instance, returns, ...lock } = others;
  const isReaction = onBusy === 'throw' || onBusy === 'skip' || typeof onBusy === 'function';
  check(isReaction, where, "onBusy must be 'throw', 'skip' or a function", onBusy);
  if (returns !== undefined) checkOneOf(where, 'returns', returns, ['promise', 'observable']);
  // The types have checked that functions accept the arguments and the instance of the method.
  const computed = COMPUTED.flatMap((name) => {
    const value = lock[name];
    return typeof value === 'function' ? [[name, value as UnknownFunction] as const] : [];
  });
  const fixed = {
    ...lock,
    ...Object.fromEntries(computed.map(([name]) => [name, undefined])),
  } as LockOptions;
  // The module's `waitTime` and computed options are not known yet; each call checks them again.
  resolveLockOptions(where, fixed, Infinity);
  return {
    key: typeof key === 'function' ? (key as UnknownFunction) : checkKeys(where, key),
    onBusy: onBusy as 'throw' | 'skip' | UnknownFunction,
    instance,
    returns,
    lock: { ...fixed, [DECORATED]: { operation: method, skips: onBusy !== 'throw' } },
    computed,
  };
}

type AnyOptions = LockedOptions<never, never, OnBusy<never>>;

/** The default key of a method. */
function keyOf(where: string, method: string): string {
  check(!method.startsWith('.'), where, 'give a key, since the class has no name', method);
  return method;
}
