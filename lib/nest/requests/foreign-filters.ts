import type { ArgumentsHost } from '@nestjs/common';
import { ExceptionsHandler } from '@nestjs/core/exceptions/exceptions-handler.js';
import { ExternalExceptionsHandler } from '@nestjs/core/exceptions/external-exceptions-handler.js';
import { isFault } from '../../model/error-answers.js';
import { LockError, settingsOf } from '../../model/lock.errors.js';
import {
  AnsweredLockError,
  forGraphQL,
  logError,
  logFault,
  responseOf,
  setRetryAfter,
  withoutKey,
} from './lock-exception.filter.js';

/** A filter in Nest's exception handlers; without types it catches everything. */
interface Filter {
  readonly exceptionMetatypes: readonly ExceptionType[];
}
type ExceptionType = abstract new (...args: never) => unknown;

/** A handler passes an exception to the first of its filters that catches it. */
interface Handler {
  readonly filters: readonly Filter[];
  next: (this: Handler, exception: unknown, host: ArgumentsHost) => unknown;
}

const guarded = new WeakSet();

/**
 * Keeps keys from clients, and sets `Retry-After`, where a filter of the application answers a lock error. It works
 * without this, too, as the errors are `HttpException`s; but then a filter that sends `error.message` reveals the key.
 *
 * The methods are not public. Nest has no public hook between an exception and the filters of the application: it calls
 * only one filter for an exception, filters of `app.useGlobalFilters` come before those of modules, and interceptors do not
 * see errors of guards and middleware. See docs/decisions/0014-lock-errors-and-foreign-filters.md.
 */
export function guardForeignFilters(): void {
  for (const { prototype } of [ExceptionsHandler, ExternalExceptionsHandler]) {
    if (guarded.has(prototype)) continue;
    guarded.add(prototype);
    guard(prototype as unknown as Handler);
  }
}

function guard(handler: Handler): void {
  const { next } = handler;
  handler.next = function (exception, host) {
    if (!(exception instanceof LockError)) return next.call(this, exception, host);
    const foreign = this.filters.find((filter) => !isOwn(filter) && catches(filter, exception));
    if (foreign === undefined) {
      // Nest answers it, and logs no HttpException.
      if (settingsOf(exception).http === false) logError(exception);
      return next.call(this, exception, host);
    }
    // Filters of the application come before the module's own, whatever their order.
    const only = Object.create(this, { filters: { value: [foreign] } }) as Handler;
    return next.call(only, isForLocks(foreign, exception) ? exception : prepared(exception, host), host);
  };
}

/** What a filter that knows nothing of locks gets instead of a lock error. */
function prepared(error: LockError, host: ArgumentsHost): LockError {
  if (settingsOf(error).http === false) return error;
  if (host.getType<string>() === 'graphql') return forGraphQL(error);
  const response = responseOf(host);
  if (response === undefined) return error;
  setRetryAfter(response, error);
  // Many filters log only what is no HttpException.
  logFault(error);
  if (isFault(error.code)) return error;
  // For filters that read properties instead of calling getStatus() and getResponse().
  const status = error.getStatus();
  return withoutKey(error, { response: error.getResponse(), status, statusCode: status });
}

function isOwn({ exceptionMetatypes }: Filter): boolean {
  return exceptionMetatypes.includes(AnsweredLockError);
}

function catches({ exceptionMetatypes }: Filter, error: LockError): boolean {
  return exceptionMetatypes.length === 0 || exceptionMetatypes.some((type) => error instanceof type);
}

function isForLocks({ exceptionMetatypes }: Filter, error: LockError): boolean {
  const isLockError = (type: ExceptionType): boolean =>
    type === LockError || type.prototype instanceof LockError;
  return exceptionMetatypes.some((type) => error instanceof type && isLockError(type));
}
