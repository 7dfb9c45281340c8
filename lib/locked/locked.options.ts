import type { Observable } from 'rxjs';
import { LockOptionsError } from '../lock.errors.js';
import {
  checkKey,
  checkKeys,
  LOCK_OPTION_NAMES,
  resolveLockOptions,
  type LockKey,
  type LockOptions,
} from '../lock.options.js';
import { checkNames, checkObject, checkOneOf, shown } from '../option-checks.js';

/** Options of `@Locked`: those of `withLock`, and which key and what to do when the lock is busy. */
export type LockedOptions<Args extends readonly unknown[]> = LockOptions & {
  /**
   * The key, or several that are taken together, or a function that makes it or them from the method's own arguments;
   * `this` in it is the instance.
   */
  readonly key: LockKey | ((this: never, ...args: Args) => LockKey);
  /**
   * What a call does when others held the lock until `waitTime` ended. `'throw'`: it fails with `LockTimeoutError`.
   * `'skip'`: it resolves to `undefined` (a stream completes without a value) and the method is not called. A function
   * of the method's arguments gives the result instead. Never applies to an unavailable store.
   *
   * @default 'throw'
   */
  readonly onBusy?: 'throw' | 'skip' | ((this: never, ...args: Args) => unknown) | undefined;
  /** The `name` of the module instance whose locks are used. */
  readonly instance?: string | undefined;
  /**
   * What the method returns. Only for compilers that emit no decorator metadata (esbuild), and only where a method that
   * is not `async` returns an Observable outside of Nest's handlers: otherwise it is known by itself.
   */
  readonly returns?: 'promise' | 'observable' | undefined;
};

/** Says what is wrong where a key function and a method don't fit. */
type Fits<KeyArgs extends readonly unknown[], Method> = Method extends (...args: infer Args) => unknown
  ? ((...args: KeyArgs) => void) extends (...args: Args) => void
    ? unknown
    : { readonly 'the key function must take the parameters of the method': never }
  : never;

/** Decorates methods that return a promise or an Observable and take what the key function takes. */
export type LockedDecorator<KeyArgs extends readonly unknown[]> = <
  Method extends (...args: never) => Promise<unknown> | Observable<unknown>,
>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method> & Fits<KeyArgs, Method>,
) => void;

const KNOWN = new Set<string>([...LOCK_OPTION_NAMES, 'key', 'onBusy', 'instance', 'returns']);

type UnknownFunction = (this: unknown, ...args: unknown[]) => unknown;

/** The same options with their parts told apart. */
export interface ResolvedLockedOptions {
  readonly key: LockKey | UnknownFunction;
  readonly onBusy: 'throw' | 'skip' | UnknownFunction;
  readonly instance: string | undefined;
  readonly returns: 'promise' | 'observable' | undefined;
  readonly lock: LockOptions;
}

/** Checks everything that is known when the class is defined. */
export function resolveLockedOptions<Args extends readonly unknown[]>(
  where: string,
  given: string | LockedOptions<Args>,
): ResolvedLockedOptions {
  if (typeof given === 'string') {
    return {
      key: checkKey(where, given),
      onBusy: 'throw',
      instance: undefined,
      returns: undefined,
      lock: {},
    };
  }
  checkNames(where, checkObject(where, given), KNOWN);
  const { key, onBusy = 'throw', instance, returns, ...lock } = given;
  if (onBusy !== 'throw' && onBusy !== 'skip' && typeof onBusy !== 'function') {
    throw new LockOptionsError(
      `${where}: onBusy must be 'throw', 'skip' or a function; got ${shown(onBusy)}.`,
    );
  }
  if (returns !== undefined) checkOneOf(where, 'returns', returns, ['promise', 'observable']);
  // The module's waitTime is not known yet; one of 0 may be refused by the call.
  resolveLockOptions(where, lock, Infinity);
  return {
    // Called with the method's own arguments and instance only, which is what their types ask for.
    key: typeof key === 'function' ? (key as unknown as UnknownFunction) : checkKeys(where, key),
    onBusy: onBusy as 'throw' | 'skip' | UnknownFunction,
    instance,
    returns,
    lock,
  };
}
