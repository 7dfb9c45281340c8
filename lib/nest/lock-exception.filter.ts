import { STATUS_CODES } from 'node:http';
import { Catch, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import { throwError, type Observable } from 'rxjs';
import { LockError } from '../lock.errors.js';
import { onePerProcess } from '../one-per-process.js';
import { remoteError } from './remote-error.js';

/** When to try again, seconds: a lock is usually soon free, a store less so. */
const RETRY_BUSY = 1;
const RETRY_UNAVAILABLE = 5;

/** Answers HTTP requests that failed with a lock error (B41): the key stays inside. Remote callers (RPC) get the error. */
@onePerProcess('LockExceptionFilter')
@Catch(LockError)
export class LockExceptionFilter implements ExceptionFilter<LockError> {
  private readonly logger = new Logger('DistributedLock');

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly http: { readonly busyStatus: number },
  ) {}

  /** For GraphQL and others the error is "not handled" (undefined), and so thrown as it is. */
  catch(error: LockError, host: ArgumentsHost): Observable<never> | undefined {
    const type = host.getType();
    if (type === 'http') this.answerRequest(error, host);
    return type === 'rpc' ? throwError(() => remoteError(error)) : undefined;
  }

  private answerRequest(error: LockError, host: ArgumentsHost): void {
    const { httpAdapter } = this.adapterHost;
    const response: unknown = host.switchToHttp().getResponse();
    if (httpAdapter.isHeadersSent(response)) {
      httpAdapter.end(response);
      return;
    }
    const { statusCode, message, retryAfter } = this.answerTo(error);
    if (retryAfter !== undefined) httpAdapter.setHeader(response, 'Retry-After', String(retryAfter));
    if (statusCode === 500) this.logger.error(error.stack ?? error.message);
    const body = { statusCode, message, error: STATUS_CODES[statusCode] ?? 'Error', code: error.code };
    httpAdapter.reply(response, body, statusCode);
  }

  private answerTo(error: LockError): { statusCode: number; message: string; retryAfter?: number } {
    switch (error.code) {
      case 'LOCK_TIMEOUT':
        return {
          statusCode: this.http.busyStatus,
          message: 'The resource is in use by another request. Try again later.',
          retryAfter: RETRY_BUSY,
        };
      case 'LOCK_QUEUE_FULL':
        return {
          statusCode: 429,
          message: 'Too many requests wait for the resource. Try again later.',
          retryAfter: RETRY_BUSY,
        };
      case 'LOCK_UNAVAILABLE':
      case 'LOCK_CLOSED':
        return {
          statusCode: 503,
          message: 'The service can not do this at the moment. Try again later.',
          retryAfter: RETRY_UNAVAILABLE,
        };
      default:
        return { statusCode: 500, message: 'Internal server error' };
    }
  }
}

class NeverThrown extends Error {}

/** Stands in where the filter is turned off: whether it is can be known only when filters are registered already. */
@Catch(NeverThrown)
export class CatchesNothing implements ExceptionFilter {
  catch(): void {
    // never called
  }
}
