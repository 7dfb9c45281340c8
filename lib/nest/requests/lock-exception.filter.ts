import { Catch, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { throwError, type Observable } from 'rxjs';
import { LockError } from '../../model/lock.errors.js';
import type { ErrorSettings } from './error-settings.js';
import { answerLockErrors } from './exception-handlers.js';
import { isFault, remoteError } from './answers.js';

/** The global filter of an application, one for all its module instances (B41). */
export function lockExceptionFilterOf(settings: ErrorSettings): ExceptionFilter<LockError> {
  settings.filter ??= createFilter(settings);
  return settings.filter;
}

function createFilter(settings: ErrorSettings): ExceptionFilter<LockError> {
  /** The lock errors whose instance does not say `http: false`. A class of its own, by which handlers know the application. */
  abstract class AnsweredLockError extends LockError {
    static override [Symbol.hasInstance](error: unknown): boolean {
      return error instanceof LockError && settings.for(error).http !== false;
    }
  }

  @Catch(AnsweredLockError)
  class LockExceptionFilter implements ExceptionFilter<LockError> {
    private readonly logger = new Logger('DistributedLock');

    /**
     * Remote callers (RPC) get the error. Requests over HTTP and GraphQL have been answered before; for others the error
     * is "not handled" (undefined), and so thrown as it is.
     */
    catch(error: LockError, host: ArgumentsHost): Observable<never> | undefined {
      if (host.getType() !== 'rpc') return undefined;
      if (isFault(error)) this.logger.error(error.stack ?? error.message);
      return throwError(() => remoteError(error, settings.for(error).rpc));
    }
  }

  answerLockErrors(AnsweredLockError, settings);
  return new LockExceptionFilter();
}
