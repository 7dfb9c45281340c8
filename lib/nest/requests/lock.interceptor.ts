import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { catchError, Observable, type Subscriber } from 'rxjs';
import { LockError, originate, type LockLostError } from '../../model/lock.errors.js';
import { HandlerCall } from './handler-call.js';
import { responseOf, withoutKey } from './lock-exception.filter.js';

/** Keeps the lock of a `@Locked` handler from its call to the end of its response, and hides keys in errors. */
export class LockInterceptor implements NestInterceptor {
  /** @param defaultOrigin returns the origin of errors that the application created itself */
  constructor(private readonly defaultOrigin: () => object) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const call = HandlerCall.begin(context.getHandler());
    const response = responseOf(context);
    const connection = response && new ClientConnection(response);
    const answer = call === undefined ? next.handle() : underLock(call, connection, next);
    return answer.pipe(
      catchError((error: unknown) => {
        throw error instanceof LockError
          ? withoutKey(originate(error, this.defaultOrigin()), context)
          : error;
      }),
    );
  }
}

function underLock(
  call: HandlerCall,
  connection: ClientConnection | undefined,
  next: CallHandler,
): Observable<unknown> {
  return new Observable((subscriber) => {
    if (connection?.isGone === true) {
      endWithoutAnswer(subscriber);
      return undefined;
    }

    // Releases first, then ends or fails the response. Work that goes on, because an interceptor inside this one ended the
    // pipeline, keeps its lock and does not delay the response.
    const ending = (then: (lost: LockLostError | undefined) => void): void => {
      const { works } = call;
      const released = call.end();
      if (works) then(undefined);
      else void released.then(then);
    };
    const subscription = call.run(() =>
      next.handle().subscribe({
        next: (value) => subscriber.next(value),
        error: (error: unknown) => ending(() => subscriber.error(error)),
        complete: () =>
          ending((lost) => {
            if (lost === undefined) subscriber.complete();
            else subscriber.error(lost);
          }),
      }),
    );
    const ignoreClient = connection?.onGone(() => {
      if (!call.clientGone()) return;
      subscription.unsubscribe();
      void call.end().then(() => {
        endWithoutAnswer(subscriber);
      });
    });
    return () => {
      ignoreClient?.();
      subscription.unsubscribe();
      void call.end();
    };
  });
}

/** Nest would treat and log a stream without a value as an error. */
function endWithoutAnswer(subscriber: Subscriber<unknown>): void {
  subscriber.next(undefined);
  subscriber.complete();
}

/**
 * The connection of the client that waits for an HTTP response. It reads the response, because the request is "closed"
 * as soon as its body has been read.
 */
export class ClientConnection {
  constructor(private readonly response: ServerResponse) {}

  /** Whether the client closed the connection before the response was complete; false without a connection. */
  get isGone(): boolean {
    // A pipelined response may have no socket yet, but its request has one; over HTTP/2 that stands for the stream.
    return !this.isComplete && this.response.req?.socket?.destroyed === true;
  }

  /** Calls `gone` if the connection closes before the response is complete. Returns a function that stops watching. */
  onGone(gone: () => void): () => void {
    const { response } = this;
    const closed = (): void => {
      if (!this.isComplete) gone();
    };
    response.once?.('close', closed);
    return () => response.off?.('close', closed);
  }

  /** Over HTTP/2, the response of a client that disconnected counts as finished, but not as ended. */
  private get isComplete(): boolean {
    return this.response.writableFinished === true && this.response.writableEnded !== false;
  }
}

/** The parts of Node's responses over HTTP/1 and HTTP/2 that it reads. */
interface ServerResponse {
  readonly req?: { readonly socket?: { readonly destroyed?: boolean } | null };
  readonly writableFinished?: boolean;
  readonly writableEnded?: boolean;
  once?(event: 'close', listener: () => void): unknown;
  off?(event: 'close', listener: () => void): unknown;
}
