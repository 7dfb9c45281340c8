import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { catchError, Observable, type Subscriber } from 'rxjs';
import { type ErrorOrigin, LockError, originate, type LockLostError } from '../../model/lock.errors.js';
import { ClientConnection } from './client-connection.js';
import { HandlerCall } from './handler-call.js';
import { logDroppedEvent, responseOf, withoutKey } from './lock-exception.filter.js';

/** Keeps the lock of a `@Locked` handler from its call to the end of its response, and hides keys in errors. */
export class LockInterceptor implements NestInterceptor {
  /** @param defaultOrigin returns the origin of errors that the application created itself */
  constructor(private readonly defaultOrigin: () => ErrorOrigin | undefined) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const response = responseOf(context);
    const connection = response && new ClientConnection(response);
    const call = HandlerCall.begin(context.getHandler(), connection);
    const answer = call === undefined ? next.handle() : underLock(call, next);
    return answer.pipe(
      catchError((error: unknown) => {
        const handler = context.getHandler();
        logDroppedEvent(error, handler, `${context.getClass().name}.${handler.name}`);
        throw error instanceof LockError
          ? withoutKey(originate(error, this.defaultOrigin()), context)
          : error;
      }),
    );
  }
}

function underLock(call: HandlerCall, next: CallHandler): Observable<unknown> {
  const { connection } = call;
  return new Observable((subscriber) => {
    if (connection?.isGone === true) {
      endWithoutAnswer(subscriber);
      return undefined;
    }

    // Releases first, then ends or fails the response. Work that goes on, because an interceptor inside this one ended the
    // pipeline or the response is a stream, keeps its lock and does not delay the response.
    const ending = (then: (lost: LockLostError | undefined) => void): void => {
      const { works } = call;
      const released = call.end();
      if (works) then(undefined);
      else void released.then(then);
    };
    const subscription = call.run(() =>
      next.handle().subscribe({
        next: (value) => {
          call.responds();
          subscriber.next(value);
        },
        error: (error: unknown) => {
          call.fails();
          ending(() => subscriber.error(error));
        },
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
      void call.end().then(() => endWithoutAnswer(subscriber));
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
