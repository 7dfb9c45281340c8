import { AsyncResource } from 'node:async_hooks';
import { defer, EMPTY, isObservable, Observable, of, ReplaySubject, takeUntil } from 'rxjs';
import type { ResolvedLockedOptions } from './locked.options.js';
import { giveBack, lossOf, lostWithResult } from '../../api/give-back.js';
import type { CallsInFlight } from '../../api/handler-scope.js';
import { originate } from '../../model/error-origin.js';
import { LockLostError, LockOptionsError, LockTimeoutError } from '../../model/lock.errors.js';
import type { LockHandle } from '../../model/lock-handle.js';
import { checkKeys, type LockKey } from '../../model/lock-key.js';
import type { LockOptions } from '../../model/lock.options.js';
import { callsOf, type LockService } from '../../api/lock.service.js';
import type { HandlerCall } from './handler-call.js';
import { importOf } from '../module/lock-service.token.js';
import { serviceUnder } from './needed-services.js';

type Method = (this: object, ...args: unknown[]) => unknown;

/** What `@Locked` makes of a method: the ways to run it under its lock. */
export class LockedMethod {
  private readonly original: Method;

  constructor(
    private readonly where: string,
    private readonly options: ResolvedLockedOptions,
    private readonly serviceProperty: symbol,
    original: (...args: never) => unknown,
  ) {
    // Called with what the caller passed, which the types of the method have checked.
    this.original = original as Method;
  }

  /** Locked for the call. */
  async run(self: object, args: unknown[]): Promise<unknown> {
    const service = this.serviceOf(self);
    const key = this.keyOf(service, self, args);
    // The method may time out on another lock; only the wait for this one is "busy".
    const method = { called: false };
    const calls = this.countCall(service);
    try {
      return await service.withLock(key, this.options.lock, async () => {
        method.called = true;
        const result = await this.original.apply(self, args);
        if (isObservable(result)) throw this.unexpectedStream();
        return result;
      });
    } catch (error) {
      if (method.called || !(error instanceof LockTimeoutError)) throw error;
      return await this.busy(error, self, args);
    } finally {
      calls?.end();
    }
  }

  /** Locked for each subscription, from subscribing to the end of the stream (B34). */
  stream(self: object, args: unknown[]): Observable<unknown> {
    return new Observable((subscriber) => {
      const stopped = new AbortController();
      const stop = new ReplaySubject<void>(1);
      // Who subscribes is outside of the method, and of its scope.
      const outside = new AsyncResource('LockedStream');
      const follow = (source: Observable<unknown>): Promise<void> =>
        new Promise((resolve, reject) => {
          // Stops a source that emits before its subscribe() returns, too.
          source.pipe(takeUntil(stop)).subscribe({
            next: (value) => {
              outside.runInAsyncScope(() => {
                subscriber.next(value);
              });
            },
            error: reject,
            complete: resolve,
          });
        });

      const play = async (): Promise<void> => {
        const calls = this.countCall(this.serviceOf(self));
        try {
          await playLocked();
        } finally {
          calls?.end();
        }
      };
      const playLocked = async (): Promise<void> => {
        const handle = await this.acquire(self, args, stopped.signal);
        if (!('release' in handle)) {
          await follow(streamOf(handle.instead));
          return;
        }
        try {
          await handle.run(() => follow(defer(() => this.original.apply(self, args) as Observable<unknown>)));
        } finally {
          await giveBack(handle);
        }
        const lost = this.throwsLoss ? await lossOf(handle, undefined) : undefined;
        if (lost !== undefined) throw lost;
      };

      play().then(
        () => {
          subscriber.complete();
        },
        (error: unknown) => {
          subscriber.error(error);
        },
      );
      return () => {
        stopped.abort();
        stop.next();
      };
    });
  }

  /** Locked from now until the handler's response is ready; the call gives the lock back. */
  async runInHandler(call: HandlerCall, self: object, args: unknown[]): Promise<unknown> {
    call.counts(this.countCall(this.serviceOf(self)));
    const handle = await this.acquire(self, args, call.signal);
    if (!('release' in handle)) return handle.instead;
    // Granted while the call was given up, which is over and gives nothing back any more.
    if (call.signal.aborted) await handle.release();
    call.signal.throwIfAborted();
    call.own(handle, this.throwsLoss);
    const result = await call.track(handle.run(() => this.original.apply(self, args)));
    if (!isObservable(result)) {
      this.throwIfLost(handle, result);
      call.result = result;
      return result;
    }
    // The client went away while the method made the stream.
    if (call.signal.aborted) return EMPTY;
    call.streams = true;
    return result;
  }

  /** The lock, or what takes the place of the method's result when it is busy. */
  private async acquire(
    self: object,
    args: unknown[],
    stopped: AbortSignal,
  ): Promise<LockHandle | { readonly instead: unknown }> {
    const { signal } = this.options.lock;
    const options: LockOptions = {
      ...this.options.lock,
      signal: signal === undefined ? stopped : AbortSignal.any([signal, stopped]),
    };
    try {
      const service = this.serviceOf(self);
      return await service.acquire(this.keyOf(service, self, args), options);
    } catch (error) {
      if (!(error instanceof LockTimeoutError)) throw error;
      return { instead: await this.busy(error, self, args) };
    }
  }

  /**
   * Shutdown lets a call come to its end, though Nest does not wait for what scheduled it or sent the message (B60). Who
   * waits without limit may wait for something that never comes.
   */
  private countCall(service: LockService): CallsInFlight | undefined {
    const calls = this.options.lock.waitTime === Infinity ? undefined : callsOf(service);
    calls?.begin();
    return calls;
  }

  private async busy(error: LockTimeoutError, self: object, args: unknown[]): Promise<unknown> {
    const { onBusy } = this.options;
    if (onBusy === 'throw') throw error;
    return onBusy === 'skip' ? undefined : await onBusy.apply(self, args);
  }

  private keyOf(service: LockService, self: object, args: unknown[]): LockKey {
    const { key } = this.options;
    if (typeof key !== 'function') return key;
    const made = key.apply(self, args);
    try {
      return checkKeys(this.where, made);
    } catch (error) {
      throw originate(error, service);
    }
  }

  private serviceOf(self: object): LockService {
    const service = serviceUnder(self, this.serviceProperty);
    if (service !== undefined) return service;
    throw new LockOptionsError(
      `${this.where}: this object has no LockService. Let Nest create it (as a provider or controller, not with new), ` +
        `and import ${importOf(this.options.instance)} into the root module. ` +
        'What useFactory or useValue give is served from app.init() on, but not in modules that are loaded later.',
    );
  }

  /** B27: with `onLost: 'throw'` a value whose lock was lost becomes an error. */
  private throwIfLost(handle: LockHandle, result: unknown): void {
    if (!this.throwsLoss) return;
    try {
      handle.assertHeld();
    } catch (error) {
      if (error instanceof LockLostError) throw lostWithResult(error, result, handle);
    }
  }

  private get throwsLoss(): boolean {
    return this.options.lock.onLost === 'throw';
  }

  private unexpectedStream(): LockOptionsError {
    return new LockOptionsError(
      `${this.where}: the method returned an Observable, which could not be known before. Declare its return type as ` +
        "Observable and let the compiler emit decorator metadata, or say returns: 'observable' in @Locked.",
    );
  }
}

/** What takes the place of a busy stream: nothing, one value, or the stream that onBusy gave. */
function streamOf(instead: unknown): Observable<unknown> {
  if (instead === undefined) return EMPTY;
  return isObservable(instead) ? instead : of(instead);
}
