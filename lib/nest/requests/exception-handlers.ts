import { Logger, type ArgumentsHost } from '@nestjs/common';
import { ExceptionsHandler } from '@nestjs/core/exceptions/exceptions-handler.js';
import { ExternalExceptionsHandler } from '@nestjs/core/exceptions/external-exceptions-handler.js';
import { LockError, lockErrorOf } from '../../model/lock.errors.js';
import { isFault, retryAfterOf } from './answers.js';
import type { ErrorSettings } from './error-settings.js';
import { graphQLErrorOf, LockHttpException } from '../module/stand-ins.js';

/** A filter as Nest's exception handlers keep it; without types it catches all. */
interface Entry {
  readonly exceptionMetatypes: readonly ExceptionType[];
}
type ExceptionType = abstract new (...args: never) => unknown;

/** What Nest asks with each error: the filters of the handler in their order, then itself. */
interface Handler {
  readonly filters: readonly Entry[];
  next: (this: Handler, exception: unknown, host: ArgumentsHost) => unknown;
}

const settingsByType = new WeakMap<ExceptionType, ErrorSettings>();
const INSTALLED = Symbol('asks for lock errors');
const logger = new Logger('DistributedLock');

/**
 * Lets Nest's exception handlers answer lock errors as `http` says, whatever filters there are. A filter of the
 * application may catch everything and stand before any of ours, and the error may come from a guard or a middleware,
 * where no interceptor sees it: the handlers are the one place that every error of a request passes before a filter does.
 * See docs/decisions/0014-lock-errors-and-foreign-filters.md.
 *
 * @param type by which handlers know that they are of an application with these settings: what its filter catches
 */
export function answerLockErrors(type: ExceptionType, settings: ErrorSettings): void {
  settingsByType.set(type, settings);
  install(ExceptionsHandler.prototype, answerRequest);
  install(ExternalExceptionsHandler.prototype, answerResolver);
}

type Answer = (
  error: LockError,
  host: ArgumentsHost,
  settings: ErrorSettings,
  next: (exception: unknown, filters: readonly Entry[]) => unknown,
  filters: readonly Entry[],
) => unknown;

function install(prototype: object, answer: Answer): void {
  const handler = prototype as Handler & { [INSTALLED]?: true };
  if (handler[INSTALLED] === true) return;
  const { next } = handler;
  handler[INSTALLED] = true;
  handler.next = function (exception, host) {
    const error = lockErrorOf(exception);
    const settings = error === undefined ? undefined : settingsIn(this.filters);
    if (error === undefined || settings === undefined) return next.call(this, exception, host);
    const others = this.filters.filter((entry) => settingsIn([entry]) === undefined);
    const goOn = (passed: unknown, filters: readonly Entry[]): unknown =>
      next.call(Object.create(this, { filters: { value: filters } }) as Handler, passed, host);
    return answer(error, host, settings, goOn, others);
  };
}

function answerRequest(...[error, host, settings, next, filters]: Parameters<Answer>): unknown {
  const { http } = settings.for(error);
  if (http === false || host.getType() !== 'http') return next(error, filters);
  const chosen = chosenOf(filters, error);
  // Filters for lock errors answer as they wish; what is a fault stays one, for logs.
  if (chosen !== undefined && (isForLocks(chosen, error) || isFault(error))) return next(error, [chosen]);
  const retryAfter = retryAfterOf(error);
  if (retryAfter !== undefined) setHeader(host.getArgByIndex(1), 'Retry-After', String(retryAfter));
  if (isFault(error)) logger.error(error.stack ?? error.message);
  return next(new LockHttpException(error, http), chosen === undefined ? filters : [chosen]);
}

function answerResolver(...[error, host, , next, filters]: Parameters<Answer>): unknown {
  if (host.getType<string>() !== 'graphql') return next(error, filters);
  const chosen = chosenOf(filters, error);
  if (chosen !== undefined && isForLocks(chosen, error)) return next(error, [chosen]);
  if (chosen !== undefined) return next(graphQLErrorOf(error), [chosen]);
  if (isFault(error)) logger.error(error.stack ?? error.message);
  throw graphQLErrorOf(error);
}

/** The filter that Nest would choose. */
function chosenOf(filters: readonly Entry[], error: LockError): Entry | undefined {
  return filters.find(
    ({ exceptionMetatypes }) =>
      exceptionMetatypes.length === 0 || exceptionMetatypes.some((type) => error instanceof type),
  );
}

function isForLocks({ exceptionMetatypes }: Entry, error: LockError): boolean {
  return exceptionMetatypes.some(
    (type) =>
      error instanceof type && ((type as unknown) === LockError || type.prototype instanceof LockError),
  );
}

function settingsIn(filters: readonly Entry[]): ErrorSettings | undefined {
  for (const { exceptionMetatypes } of filters) {
    for (const type of exceptionMetatypes) {
      const settings = settingsByType.get(type);
      if (settings !== undefined) return settings;
    }
  }
  return undefined;
}

/** What Express gives, Fastify, and Node itself to middleware on Fastify. */
interface Response {
  readonly headersSent?: boolean;
  readonly raw?: { readonly headersSent?: boolean };
  setHeader?(name: string, value: string): unknown;
  header?(name: string, value: string): unknown;
}

/** Whoever writes the answer, the header goes out with it. */
function setHeader(response: Response, name: string, value: string): void {
  if ((response.raw ?? response).headersSent === true) return;
  if (typeof response.setHeader === 'function') response.setHeader(name, value);
  else response.header?.(name, value);
}
