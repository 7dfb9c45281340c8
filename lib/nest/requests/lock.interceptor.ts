import {
  Injectable,
  Logger,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { catchError, Observable, throwError, type Subscriber } from 'rxjs';
import { lockErrorOf } from '../../model/lock.errors.js';
import { onePerProcess } from '../module/one-per-process.js';
import { LockHttpException } from '../module/stand-ins.js';
import { isFault } from './answers.js';
import { HandlerCall } from '../locked/handler-call.js';
import { ClientConnection } from './client-connection.js';
import { settingsOfItsInstance } from './error-settings.js';

/** Under which `@Sse` writes. */
const IS_SSE = '__sse__';
const logger = new Logger('DistributedLock');

/** Carries the lock of a `@Locked` handler from its call to the end of its response (B33). */
@onePerProcess('LockInterceptor')
@Injectable()
export class LockInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const handler = context.getHandler();
    const answer = this.locked(context, next);
    if (!Reflect.hasMetadata(IS_SSE, handler)) return answer;
    return answer.pipe(catchError((error: unknown) => throwError(() => streamError(error, context))));
  }

  private locked(context: ExecutionContext, next: CallHandler): Observable<unknown> {
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

/** Server-sent events that have begun end with the message of their error, which no exception filter sees any more. */
function streamError(exception: unknown, context: ExecutionContext): unknown {
  const error = lockErrorOf(exception);
  if (error === undefined || !connectionOf(context)?.isAnswering) return exception;
  const { http } = settingsOfItsInstance(error) ?? {};
  if (http === false) return exception;
  if (isFault(error)) logger.error(error.stack ?? error.message);
  return new LockHttpException(error, http ?? { busyStatus: 423 });
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
