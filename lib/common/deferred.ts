type OnReply<T> = (value: T) => void;
type OnError = (error: unknown) => void;

/**
 * The result of a request. It is a promise for code that awaits it; the engine passes its two callbacks instead, and
 * then no promise is created: with asynchronous contexts in use a promise costs more than the rest of a request.
 */
export class Deferred<T> implements PromiseLike<T> {
  private onReply: OnReply<T> | undefined;
  private onError: OnError | undefined;
  private state: 'pending' | 'resolved' | 'rejected' = 'pending';
  private outcome: unknown;
  private made: Promise<T> | undefined;

  /** A real promise. */
  get promise(): Promise<T> {
    this.made ??= new Promise<T>((resolve, reject) => {
      this.listen(resolve, reject);
    });
    return this.made;
  }

  /** Calls one of the two when the outcome is known, or now if it is, after those of earlier listeners. */
  listen(onReply: OnReply<T>, onError: OnError): void {
    if (this.state === 'resolved') onReply(this.outcome as T);
    else if (this.state === 'rejected') onError(this.outcome);
    else if (this.onReply === undefined) {
      this.onReply = onReply;
      this.onError = onError;
    } else {
      const { onReply: earlier, onError: earlierError } = this;
      this.onReply = (value) => {
        earlier(value);
        onReply(value);
      };
      this.onError = (error) => {
        earlierError?.(error);
        onError(error);
      };
    }
  }

  /** The first outcome counts. */
  resolve(value: T): void {
    if (this.state !== 'pending') return;
    this.state = 'resolved';
    this.outcome = value;
    this.onReply?.(value);
  }

  reject(error: unknown): void {
    if (this.state !== 'pending') return;
    this.state = 'rejected';
    this.outcome = error;
    this.onError?.(error);
  }

  then<R1 = T, R2 = never>(
    onReply?: ((value: T) => R1 | PromiseLike<R1>) | null,
    onError?: ((reason: unknown) => R2 | PromiseLike<R2>) | null,
  ): Promise<R1 | R2> {
    return this.promise.then(onReply, onError);
  }
}

/** A result that may be awaited several times, or cost no promise. */
export type Pending<T> = Promise<T> | Deferred<T>;

export function promiseOf<T>(pending: Pending<T>): Promise<T> {
  return pending instanceof Deferred ? pending.promise : pending;
}

export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | null | undefined)?.then === 'function';
}

/** Reports the result of a request, whatever kind of promise a store returns; a custom store may return none. */
export function whenReplied<T>(reply: PromiseLike<T>, onReply: OnReply<T>, onError: OnError): void {
  if (reply instanceof Deferred) (reply as Deferred<T>).listen(onReply, onError);
  else Promise.resolve(reply).then(onReply, onError);
}

/** Counts calls in flight. */
export class CallsInFlight {
  size = 0;
  private whenNone: (() => void)[] = [];

  begin(): void {
    this.size += 1;
  }

  end(): void {
    this.size -= 1;
    if (this.size > 0) return;
    for (const resolve of this.whenNone.splice(0)) resolve();
  }

  /** Resolves when there is none. */
  ended(): Promise<void> {
    if (this.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.whenNone.push(resolve);
    });
  }
}
