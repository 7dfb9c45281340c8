import { AsyncResource } from 'node:async_hooks';
import { defer, EMPTY, isObservable, map, Observable, of, ReplaySubject, takeUntil } from 'rxjs';
import { lossOf, lostWithResult, releaseAfterWork, type CallsInFlight } from '../../api/end-of-work.js';
import { callsOf, errorOriginOf, type LockService } from '../../api/lock.service.js';
import { LockLostError, LockOptionsError, LockTimeoutError, originate } from '../../model/lock.errors.js';
import type { LockHandle } from '../../model/lock-handle.js';
import { checkKeys, type LockKey } from '../../model/lock-key.js';
import { lateWork, refusalOf } from '../../model/late-work.js';
import { DECORATED, resolveLockOptions } from '../../model/lock.options.js';
import { importOf, serviceUnder } from '../module/lock-service.injection.js';
import type { HandlerRun } from '../requests/handler-call.js';
import { logDroppedEvent } from '../requests/lock-exception.filter.js';
import type { DecoratedOptions, ResolvedLockedOptions } from './locked.options.js';

type Method = (this: object, ...args: unknown[]) => unknown;

/** A method under `@Locked`, and the three ways to run it under its lock. */
export class LockedMethod {
  /** The method that replaces the original one. */
  handler: object | undefined;
  private readonly original: Method;

  constructor(
    private readonly where: string,
    private readonly options: ResolvedLockedOptions,
    private readonly serviceProperty: symbol,
    private readonly prototype: object,
    original: (...args: never) => unknown,
  ) {
    // The decorator's types have checked the arguments.
    this.original = original as Method;
  }

  /** Holds the lock during the call. */
  async run(self: object, args: unknown[]): Promise<unknown> {
    const service = this.serviceOf(self);
    // The method itself may time out on another lock; `onBusy` applies only to this one.
    const method = { called: false };
    let calls: CallsInFlight | undefined;
    try {
      const key = this.keyOf(service, self, args);
      const options = this.optionsOf(service, self, args);
      calls = this.countCall(service, options);
      const outcome = await service.withLock(key, options, async () => {
        method.called = true;
        const result = await this.original.apply(self, args);
        if (isObservable(result)) throw this.unexpectedStream();
        this.refuse(service, 'the method', result);
        return result;
      });
      if (!method.called && outcome === undefined) throw this.mockedService();
      return outcome;
    } catch (error) {
      if (method.called || !(error instanceof LockTimeoutError) || this.options.onBusy === 'throw') {
        this.logDropped(error);
        throw error;
      }
      const instead = await this.busy(error, self, args);
      this.refuse(service, 'onBusy', instead);
      return instead;
    } finally {
      calls?.end();
    }
  }

  /** Holds the lock during each subscription. */
  stream(self: object, args: unknown[]): Observable<unknown> {
    return new Observable((subscriber) => {
      const stopped = new AbortController();
      const stop = new ReplaySubject<void>(1);
      // The subscriber's code is not part of the method and must not run in its scope.
      const outside = new AsyncResource('LockedStream');
      const follow = (source: Observable<unknown>): Promise<void> =>
        new Promise((resolve, reject) => {
          // Also stops a source that emits before its `subscribe()` returns.
          source.pipe(takeUntil(stop)).subscribe({
            next: (value) => outside.runInAsyncScope(() => subscriber.next(value)),
            error: reject,
            complete: resolve,
          });
        });

      const play = async (): Promise<void> => {
        const service = this.serviceOf(self);
        const options = this.optionsOf(service, self, args);
        const calls = this.countCall(service, options);
        try {
          const handle = await this.acquire(service, self, args, options, stopped.signal);
          if (!('release' in handle)) {
            await follow(streamOf(handle.instead));
            return;
          }
          try {
            await handle.run(() =>
              follow(defer(() => this.original.apply(self, args) as Observable<unknown>)),
            );
          } finally {
            await releaseAfterWork(handle);
          }
          const lost = this.throwsLoss ? await lossOf(handle, undefined) : undefined;
          if (lost !== undefined) throw lost;
        } finally {
          calls?.end();
        }
      };
      play().then(
        () => subscriber.complete(),
        (error: unknown) => {
          this.logDropped(error);
          subscriber.error(error);
        },
      );
      return () => {
        stopped.abort();
        stop.next();
      };
    });
  }

  /** Holds the lock until the handler's response is ready; the `HandlerCall` releases it. */
  async runInHandler(call: HandlerRun, self: object, args: unknown[]): Promise<unknown> {
    const service = this.serviceOf(self);
    const options = this.optionsOf(service, self, args);
    call.counts(this.countCall(service, options));
    const handle = await this.acquire(service, self, args, options, call.signal);
    if (!('release' in handle)) return handle.instead;
    // The call ended while the lock was being granted and will not release it.
    if (call.signal.aborted) await handle.release();
    call.signal.throwIfAborted();
    call.hold(handle, this.throwsLoss);
    // In an object, because `run()` refuses streams.
    const { result } = await call.track(
      handle.run(async () => ({ result: await this.original.apply(self, args) })),
    );
    const sent = (body: unknown): unknown => {
      if (lateWork(body) === undefined) return body;
      if (!call.canStream) this.refuse(service, 'the handler', body);
      return call.stream(body, handle);
    };
    if (!isObservable(result)) {
      this.throwIfLost(handle, result);
      call.result = result;
      return sent(result);
    }
    // The client disconnected while the method created the stream.
    if (call.signal.aborted) return EMPTY;
    call.streams = true;
    return call.canStream ? result.pipe(map(sent)) : result;
  }

  /** Acquires the lock; if it is busy, returns the replacement for the method's result. */
  private async acquire(
    service: LockService,
    self: object,
    args: unknown[],
    options: DecoratedOptions,
    signal: AbortSignal,
  ): Promise<LockHandle | { readonly instead: unknown }> {
    try {
      const handle = await service.acquire(this.keyOf(service, self, args), { ...options, signal });
      if (typeof (handle as LockHandle | undefined)?.run !== 'function') throw this.mockedService();
      return handle;
    } catch (error) {
      if (!(error instanceof LockTimeoutError)) throw error;
      return { instead: await this.busy(error, self, args) };
    }
  }

  /**
   * Makes shutdown wait for the call, because Nest does not wait for scheduled jobs and messages. Calls with an
   * unlimited wait are not counted, as they may never end.
   */
  private countCall(service: LockService, { waitTime }: DecoratedOptions): CallsInFlight | undefined {
    const calls = waitTime === Infinity ? undefined : callsOf(service);
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
      throw originate(error, errorOriginOf(service));
    }
  }

  /** The options of one call. */
  private optionsOf(service: LockService, self: object, args: unknown[]): DecoratedOptions {
    const { lock, computed } = this.options;
    if (computed.length === 0) return lock;
    const values = Object.fromEntries(computed.map(([name, compute]) => [name, compute.apply(self, args)]));
    const options: DecoratedOptions = { ...lock, ...values };
    try {
      // Checked here because an error of the service would not name the method. The service checks the module's
      // `waitTime`.
      resolveLockOptions(this.where, options, Infinity);
    } catch (error) {
      throw originate(error, errorOriginOf(service));
    }
    return options;
  }

  private serviceOf(self: object): LockService {
    const service = (self as object | null | undefined) && serviceUnder(self, this.serviceProperty);
    if (service) return service;
    if (!Object.prototype.isPrototypeOf.call(this.prototype, self)) {
      throw new LockOptionsError(
        `${this.where}: called without its object, as after const { method } = service. Call service.method(…), or pass ` +
          '() => service.method(…).',
      );
    }
    throw new LockOptionsError(
      `${this.where}: this object has no LockService. Let Nest create it (as a provider or controller, not with new), ` +
        `and import ${importOf(this.options.instance)} into the root module. ` +
        'Objects from useFactory and useValue receive the service in app.init(), but not in modules loaded later.',
    );
  }

  /** In hybrid applications, no interceptor of the module sees the errors of message handlers. */
  private logDropped(error: unknown): void {
    logDroppedEvent(error, this.handler, this.options.lock[DECORATED].operation);
  }

  private mockedService(): LockOptionsError {
    return new LockOptionsError(
      `${this.where}: the LockService of this object is a mock, which does not run the method. In tests, provide a ` +
        'FakeLockService of nestjs-distributed-lock/testing, or give the mock a withLock() that calls its function.',
    );
  }

  /** B27: with `onLost: 'throw'`, an error replaces the result if the lock was lost. */
  private throwIfLost(handle: LockHandle, result: unknown): void {
    if (!this.throwsLoss) return;
    try {
      handle.assertHeld();
    } catch (error) {
      if (error instanceof LockLostError) throw lostWithResult(error, result, handle);
    }
  }

  /** @throws LockOptionsError for a result whose work begins later */
  private refuse(service: LockService, who: string, result: unknown): void {
    const refused = refusalOf(`${this.where}: ${who}`, result);
    if (refused !== undefined) throw originate(refused, errorOriginOf(service));
  }

  private get throwsLoss(): boolean {
    return this.options.lock.onLost === 'throw';
  }

  /** For callers that expect a generator and not a promise that rejects. */
  generator(): LockOptionsError {
    return new LockOptionsError(
      `${this.where}: only request handlers may be generators: whoever calls another method would run it after the ` +
        'release. Return a promise of its collected values, or acquire the lock inside it with withLock().',
    );
  }

  private unexpectedStream(): LockOptionsError {
    return new LockOptionsError(
      `${this.where}: the method returned an Observable, but its declared type did not say so. Declare its return type as ` +
        "Observable and let the compiler emit decorator metadata, or set returns: 'observable' in @Locked.",
    );
  }
}

/** The replacement for a busy stream: empty, one value, or the stream that `onBusy` returned. */
function streamOf(instead: unknown): Observable<unknown> {
  if (instead === undefined) return EMPTY;
  return isObservable(instead) ? instead : of(instead);
}
