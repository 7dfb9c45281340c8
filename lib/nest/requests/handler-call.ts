import 'reflect-metadata';
import { HandlerScope, lossOf, releaseAfterWork, type CallsInFlight } from '../../api/end-of-work.js';
import type { LockLostError } from '../../model/lock.errors.js';
import type { LockHandle } from '../../model/lock-handle.js';
import type { ClientConnection } from './client-connection.js';
import { StreamedBody } from './streamed-body.js';

const LOCKED_METHOD = Symbol.for('nestjs-distributed-lock:locked-method');

/**
 * One call of a locked handler by Nest, and the scope of its locks. The interceptor begins and ends the call. In
 * between, the method acquires the lock, because only the method sees the arguments after pipes. Locked methods
 * are compared by identity.
 */
export class HandlerCall extends HandlerScope {
  /** The latest run of the method: an interceptor such as `retry` calls it again. */
  private latest: HandlerRun | undefined;
  private ended: Promise<LockLostError | undefined> | undefined;

  private constructor(
    private readonly method: object,
    /** That of an HTTP client, to which Nest sends bodies after the handler has returned them. */
    readonly connection: ClientConnection | undefined,
  ) {
    super();
  }

  /** Links a handler to its locked method, by metadata that other decorators keep. */
  static mark(handler: object | undefined, method: object): void {
    if (handler !== undefined) Reflect.defineMetadata(LOCKED_METHOD, method, handler);
  }

  /** Begins a call of a handler; undefined if the handler is not locked, or an outer interceptor has begun the call. */
  static begin(handler: object, connection: ClientConnection | undefined): HandlerCall | undefined {
    const method = Reflect.getMetadata(LOCKED_METHOD, handler) as object | undefined;
    if (method === undefined || HandlerCall.around(method) !== undefined) return undefined;
    return new HandlerCall(method, connection);
  }

  /** Begins a run of the method in the Nest call around it; undefined outside of one. */
  static claim(method: object): HandlerRun | undefined {
    const call = HandlerCall.around(method);
    if (call === undefined) return undefined;
    // Whatever called the method again no longer waits for the run before: it must neither begin nor lend its lock.
    call.latest?.drop();
    void call.latest?.end();
    call.owners.length = 0;
    call.latest = new HandlerRun(call);
    if (call.ended !== undefined) void call.latest.end();
    return call.latest;
  }

  /** The Nest call that calls the method now. Code inside the method that calls it again is no call by Nest. */
  private static around(method: object): HandlerCall | undefined {
    const call = HandlerScope.current();
    const isCaller = call instanceof HandlerCall && call.method === method;
    return isCaller && (call.latest === undefined || call.isInnermost) ? call : undefined;
  }

  /** Whether the method's work outlives the pipeline that called it: one with a timeout, or one that returned a stream. */
  get works(): boolean {
    return this.latest?.works === true || this.latest?.sends === true;
  }

  /** The pipeline has a response: a body of the handler is sent from now on, and keeps its lock until it has ended. */
  responds(): void {
    this.latest?.send();
  }

  /** The pipeline has failed: a body of the handler is not sent. */
  fails(): void {
    this.latest?.drop();
  }

  /**
   * The client disconnected. Returns whether the call ends now: a wait or a stream does; other work can't be stopped
   * and keeps its lock.
   */
  clientGone(): boolean {
    return this.latest === undefined || this.latest.stopWaiting();
  }

  /**
   * The pipeline has ended: a wait for the lock ends at once, a lock is released once the method has ended. Resolves when
   * the release has been sent; the value is the loss of the lock if the response has to fail for it. Never rejects.
   */
  end(): Promise<LockLostError | undefined> {
    this.ended ??= this.finish();
    return this.ended;
  }

  private async finish(): Promise<LockLostError | undefined> {
    const lost = await this.latest?.end();
    // A pipe may still call the method; the method detects through this scope that it must not run.
    if (this.latest !== undefined) this.close();
    return lost;
  }
}

/** One run of a locked handler: from the acquisition of its lock to the release. */
export class HandlerRun {
  private readonly aborter = new AbortController();
  /** Aborted when the wait for the lock has become pointless. */
  readonly signal: AbortSignal = this.aborter.signal;
  private handle: LockHandle | undefined;
  private work: Promise<unknown> | undefined;
  private ended: Promise<LockLostError | undefined> | undefined;
  private throwsLoss = false;
  private calls: CallsInFlight | undefined;
  /** Whether the method runs at the moment. */
  works = false;
  /** Whether the handler returned a stream: the run then ends with the subscription. */
  streams = false;
  /** The result of the method, unless it is a stream. */
  result: unknown;
  private body: StreamedBody | undefined;
  /** Whether the response sends the body of the handler. */
  sends = false;

  constructor(private readonly scope: HandlerCall) {}

  /** Whether Nest sends a stream that the handler returns. */
  get canStream(): boolean {
    return this.scope.connection !== undefined;
  }

  /** Holds the lock while the result is sent. Returns what to return in its place. */
  stream(result: unknown, handle: LockHandle): unknown {
    this.body = new StreamedBody(result, handle, async () => {
      const lost = this.sends ? await this.end() : undefined;
      if (lost !== undefined) throw lost;
    });
    return this.body.value;
  }

  send(): void {
    if (this.body === undefined || this.sends) return;
    this.sends = true;
    this.scope.connection?.whenOver(() => this.body?.responseOver());
  }

  drop(): void {
    this.sends = false;
  }

  /** Keeps the lock until the method's work ends, even if the response is no longer needed. */
  track<T>(work: Promise<T>): Promise<T> {
    this.work = work;
    this.works = true;
    const ended = (): void => {
      this.works = false;
    };
    work.then(ended, ended);
    return work;
  }

  /** Counts the run until it ends; it may have ended already if its client disconnected. */
  counts(calls: CallsInFlight | undefined): void {
    if (this.ended === undefined) this.calls = calls;
    else calls?.end();
  }

  /** @param throwsLoss whether the response fails if the lock is lost before the call ends */
  hold(handle: LockHandle, throwsLoss: boolean): void {
    this.handle = handle;
    this.throwsLoss = throwsLoss;
    this.scope.own(handle);
  }

  /** Ends the wait for the lock. Returns whether nothing else goes on: work that has begun can't be stopped. */
  stopWaiting(): boolean {
    this.aborter.abort(new Error('The call of the handler ended before its lock was acquired.'));
    return this.work === undefined || this.streams;
  }

  /** See {@link HandlerCall.end}. */
  end(): Promise<LockLostError | undefined> {
    this.ended ??= this.finish();
    return this.ended;
  }

  private async finish(): Promise<LockLostError | undefined> {
    if (this.work === undefined) this.stopWaiting();
    await this.work?.catch(() => undefined);
    if (this.sends) await this.body?.ended;
    const { handle } = this;
    if (handle !== undefined) await releaseAfterWork(handle);
    const lost = handle && this.throwsLoss ? await lossOf(handle, this.result) : undefined;
    this.calls?.end();
    return lost;
  }
}
