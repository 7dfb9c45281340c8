import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Observable, type Subscriber } from 'rxjs';
import { onePerProcess } from '../module/one-per-process.js';
import { HandlerCall } from '../locked/handler-call.js';
import { ClientConnection } from './client-connection.js';

/** Carries the lock of a `@Locked` handler from its call to the end of its response (B33). */
@onePerProcess('LockInterceptor')
@Injectable()
export class LockInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const handler = context.getHandler();
    if (!HandlerCall.isLocked(handler)) return next.handle() as Observable<unknown>;
    return new Observable((subscriber) => {
      const call = HandlerCall.begin(handler);
      if (call === undefined) return next.handle().subscribe(subscriber);
      const connection = connectionOf(context);
      if (connection?.isGone === true) {
        endWithoutAnswer(subscriber);
        return undefined;
      }

      // Release comes before the end of the response, and before its error.
      const subscription = call.run(() =>
        next.handle().subscribe({
          next: (value) => {
            subscriber.next(value);
          },
          error: (error: unknown) => {
            void call.end().then(() => {
              subscriber.error(error);
            });
          },
          complete: () => {
            void call.end().then((lost) => {
              if (lost === undefined) subscriber.complete();
              else subscriber.error(lost);
            });
          },
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
        call.abandon();
      };
    });
  }
}

function connectionOf(context: ExecutionContext): ClientConnection | undefined {
  return context.getType() === 'http'
    ? new ClientConnection(context.switchToHttp().getResponse())
    : undefined;
}

/** Nest takes a stream that ends without a value for an error, and would log it. */
function endWithoutAnswer(subscriber: Subscriber<unknown>): void {
  subscriber.next(undefined);
  subscriber.complete();
}
