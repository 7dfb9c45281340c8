import 'reflect-metadata';
import { HandlerScope, lossOf, releaseAfterWork, type CallsInFlight } from '../../api/end-of-work.js';
import type { LockLostError } from '../../model/lock.errors.js';
import type { LockHandle } from '../../model/lock-handle.js';

const LOCKED_METHOD = Symbol.for('nestjs-distributed-lock:locked-method');

/**
 * One call of a locked handler by Nest, and the scope of its locks. The interceptor begins and ends the call. In
 * between, the method acquires the lock, because only the method sees the arguments after pipes (B33). Locked methods
 * are compared by identity.
 */
export class HandlerCall extends HandlerScope {
  private readonly aborter = new AbortController();
  /** Aborted when the response is no longer needed. */
  readonly signal: AbortSignal = this.aborter.signal;
  private claimed = false;
  private handle: LockHandle | undefined;
  private work: Promise<unknown> | undefined;
  private ended: Promise<LockLostError | undefined> | undefined;
  private throwsLoss = false;
  private calls: CallsInFlight | undefined;
  /** Whether the handler returned a stream: the call then ends with the subscription. */
  streams = false;
  /** The result of the method, unless it is a stream. */
  result: unknown;

  private constructor(private readonly method: object) {
    super();
  }

  /** Links a handler to its locked method, by metadata that other decorators keep. */
  static mark(handler: object | undefined, method: object): void {
    if (handler !== undefined) Reflect.defineMetadata(LOCKED_METHOD, method, handler);
  }

  /** Begins a call of a handler; undefined if the handler is not locked, or an outer interceptor has begun the call. */
  static begin(handler: object): HandlerCall | undefined {
    const method = Reflect.getMetadata(LOCKED_METHOD, handler) as object | undefined;
    if (method === undefined || HandlerCall.waitingFor(method) !== undefined) return undefined;
    return new HandlerCall(method);
  }

  /** Returns the Nest call in which the method runs. Each call can be claimed once. */
  static claim(method: object): HandlerCall | undefined {
    const call = HandlerCall.waitingFor(method);
    if (call !== undefined) call.claimed = true;
    return call;
  }

  private static waitingFor(method: object): HandlerCall | undefined {
    const call = HandlerScope.current();
    return call instanceof HandlerCall && call.method === method && !call.claimed ? call : undefined;
  }

  /** Keeps the lock until the method's work ends, even if the response is no longer needed. */
  track<T>(work: Promise<T>): Promise<T> {
    this.work = work;
    return work;
  }

  /** Counts the call until it ends; it may have ended already if its client disconnected. */
  counts(calls: CallsInFlight | undefined): void {
    if (this.ended === undefined) this.calls = calls;
    else calls?.end();
  }

  /** @param throwsLoss whether the response fails if the lock is lost before the call ends */
  hold(handle: LockHandle, throwsLoss: boolean): void {
    this.handle = handle;
    this.throwsLoss = throwsLoss;
    this.own(handle);
  }

  /**
   * The client disconnected. Returns whether the call ends now: a wait or a stream does; other work can't be stopped
   * and keeps its lock.
   */
  clientGone(): boolean {
    this.aborter.abort(new Error('The client disconnected before the lock was acquired.'));
    return this.work === undefined || this.streams;
  }

  /** The response is no longer needed. */
  abandon(): void {
    if (this.ended !== undefined) return;
    this.clientGone();
    void this.end();
  }

  /**
   * Releases the lock once the method has ended. Resolves when the release has been sent; the value is the loss of the
   * lock if the response has to fail for it. Never rejects.
   */
  end(): Promise<LockLostError | undefined> {
    this.ended ??= this.finish();
    return this.ended;
  }

  private async finish(): Promise<LockLostError | undefined> {
    await this.work?.catch(() => undefined);
    // A pipe may still call the method after the client disconnected; the method detects that through this scope.
    if (this.claimed || !this.signal.aborted) this.close();
    const { handle } = this;
    if (handle !== undefined) await releaseAfterWork(handle);
    const lost = handle && this.throwsLoss ? await lossOf(handle, this.result) : undefined;
    this.calls?.end();
    return lost;
  }
}
