import 'reflect-metadata';
import { giveBack, lossOf } from '../../api/give-back.js';
import { HandlerScope, type CallsInFlight } from '../../api/handler-scope.js';
import type { LockLostError } from '../../model/lock.errors.js';
import type { LockHandle } from '../../model/lock-handle.js';

const LOCKED_METHOD = Symbol.for('nestjs-distributed-lock:locked-method');

/**
 * One call of a locked handler by Nest. The interceptor begins and ends it; the method, which alone knows the arguments
 * after pipes, takes the lock in between (B33). A locked method is known here by its identity only.
 */
export class HandlerCall {
  private readonly scope = new HandlerScope(this);
  private readonly aborter = new AbortController();
  private claimed = false;
  private handle: LockHandle | undefined;
  private work: Promise<unknown> | undefined;
  private ended: Promise<LockLostError | undefined> | undefined;
  private throwsLoss = false;
  private calls: CallsInFlight | undefined;
  /** Whether the handler has returned a stream, which ends with its subscription. */
  streams = false;
  /** What the method returned, unless that is a stream. */
  result: unknown;

  constructor(private readonly method: object) {}

  /** Says which locked method a handler is; kept by decorators that keep metadata. */
  static mark(handler: object | undefined, method: object): void {
    if (handler !== undefined) Reflect.defineMetadata(LOCKED_METHOD, method, handler);
  }

  /** Whether a handler is a locked method. */
  static isLocked(handler: object): boolean {
    return Reflect.hasMetadata(LOCKED_METHOD, handler);
  }

  /** The locked method that a handler is, unless its call has begun already. */
  static begin(handler: object): HandlerCall | undefined {
    const method = Reflect.getMetadata(LOCKED_METHOD, handler) as object | undefined;
    if (method === undefined || HandlerCall.waitingFor(method) !== undefined) return undefined;
    return new HandlerCall(method);
  }

  /** For the method: the call that Nest is making of it just now, once. */
  static claim(method: object): HandlerCall | undefined {
    const call = HandlerCall.waitingFor(method);
    if (call !== undefined) call.claimed = true;
    return call;
  }

  private static waitingFor(method: object): HandlerCall | undefined {
    const call = HandlerScope.current()?.call;
    if (!(call instanceof HandlerCall)) return undefined;
    return call.method === method && !call.claimed ? call : undefined;
  }

  /** Aborted when nobody waits for the response any more. */
  get signal(): AbortSignal {
    return this.aborter.signal;
  }

  run<T>(fn: () => T): T {
    return this.scope.run(fn);
  }

  /** The method is at work: the lock is kept until it has ended, whether or not anybody waits for its result. */
  track<T>(work: Promise<T>): Promise<T> {
    this.work = work;
    return work;
  }

  /** It is counted until it has ended. Its client may have gone away before the method was called. */
  counts(calls: CallsInFlight | undefined): void {
    if (this.ended === undefined) this.calls = calls;
    else calls?.end();
  }

  /** @param throwsLoss whether the response is to fail if the lock was lost before its end */
  own(handle: LockHandle, throwsLoss: boolean): void {
    this.handle = handle;
    this.throwsLoss = throwsLoss;
    this.scope.own(handle);
  }

  /**
   * The client closed its connection. True if the call ends with it: waits and streams do; other work can't be stopped
   * and keeps its lock.
   */
  clientGone(): boolean {
    this.stopWaiting();
    return this.work === undefined || this.streams;
  }

  /** Nobody waits for the response any more. */
  abandon(): void {
    if (this.ended !== undefined) return;
    this.stopWaiting();
    void this.end();
  }

  /**
   * Gives the lock back, once the method has ended. Resolves when the release is on its way; with the loss of the lock, if
   * the response is to fail for that. Never rejects.
   */
  end(): Promise<LockLostError | undefined> {
    this.ended ??= this.finish();
    return this.ended;
  }

  private stopWaiting(): void {
    this.aborter.abort(new Error('The client went away before the lock was got.'));
  }

  private async finish(): Promise<LockLostError | undefined> {
    await this.work?.catch(() => undefined);
    // A method that is called yet, as by a pipe that goes on for a client who has gone, has to find that it is too late.
    if (this.claimed || !this.signal.aborted) this.scope.close();
    const { handle } = this;
    if (handle !== undefined) await giveBack(handle);
    const lost = handle && this.throwsLoss ? await lossOf(handle, this.result) : undefined;
    this.calls?.end();
    return lost;
  }
}
