type OnReply<T> = (value: T) => void;
type OnError = (error: unknown) => void;

/**
 * What a request will bring. It is a promise for those who `await` it; the engine gives it its two callbacks instead,
 * and then no promise is made: with asynchronous contexts in use a promise costs more than the rest of a request.
 */
export class Answer<T> implements PromiseLike<T> {
  private onReply: OnReply<T> | undefined;
  private onError: OnError | undefined;
  private settled: 'not yet' | 'resolved' | 'rejected' = 'not yet';
  private outcome: unknown;

  /** Whoever comes first is told; there is one listener. */
  tell(onReply: OnReply<T>, onError: OnError): void {
    if (this.settled === 'resolved') onReply(this.outcome as T);
    else if (this.settled === 'rejected') onError(this.outcome);
    else {
      this.onReply = onReply;
      this.onError = onError;
    }
  }

  /** The first outcome counts. */
  resolve(value: T): void {
    if (this.settled !== 'not yet') return;
    this.settled = 'resolved';
    if (this.onReply === undefined) this.outcome = value;
    else this.onReply(value);
  }

  reject(error: unknown): void {
    if (this.settled !== 'not yet') return;
    this.settled = 'rejected';
    if (this.onError === undefined) this.outcome = error;
    else this.onError(error);
  }

  then<R1 = T, R2 = never>(
    onReply?: ((value: T) => R1 | PromiseLike<R1>) | null,
    onError?: ((reason: unknown) => R2 | PromiseLike<R2>) | null,
  ): Promise<R1 | R2> {
    return new Promise<T>((resolve, reject) => {
      this.tell(resolve, reject);
    }).then(onReply, onError);
  }
}

/** Tells what came of a request, whatever kind of promise a store gives; a store of the user's may give none at all. */
export function whenAnswered<T>(answer: PromiseLike<T>, onReply: OnReply<T>, onError: OnError): void {
  if (answer instanceof Answer) (answer as Answer<T>).tell(onReply, onError);
  else Promise.resolve(answer).then(onReply, onError);
}
