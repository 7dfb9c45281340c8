import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { onePerProcess } from '../one-per-process.js';
import { HandlerCall } from '../locked/handler-call.js';

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
            void call.end().then(() => {
              subscriber.complete();
            });
          },
        }),
      );
      const ignoreClient = onClientGone(context, () => {
        if (!call.clientGone()) return;
        subscription.unsubscribe();
        void call.end().then(() => {
          // Nest takes a stream that ends without a value for an error, and would log it.
          subscriber.next(undefined);
          subscriber.complete();
        });
      });
      return () => {
        ignoreClient();
        subscription.unsubscribe();
        call.abandon();
      };
    });
  }
}

/** Calls back when the client of an HTTP request closes the connection before its response is complete. */
function onClientGone(context: ExecutionContext, gone: () => void): () => void {
  if (context.getType() !== 'http') return () => undefined;
  const response: ServerResponse = context.switchToHttp().getResponse();
  const raw = response.raw ?? response;
  const closed = (): void => {
    if (raw.writableFinished !== true) gone();
  };
  raw.once?.('close', closed);
  return () => raw.off?.('close', closed);
}

/** What Express gives, and Fastify as `raw`. */
interface ServerResponse {
  readonly raw?: ServerResponse;
  readonly writableFinished?: boolean;
  once?(event: 'close', listener: () => void): unknown;
  off?(event: 'close', listener: () => void): unknown;
}
