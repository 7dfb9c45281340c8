import 'reflect-metadata';
import type { ServerResponse } from 'node:http';
import { Catch, HttpException, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { throwError, type Observable } from 'rxjs';
import {
  ANSWERS,
  LockConflictError,
  LockError,
  type ErrorOrigin,
  originate,
  settingsOf,
} from '../../model/lock.errors.js';

// The errors are defined without Nest, so that the command line and tests can do without it.
if (!(LockError.prototype instanceof HttpException)) {
  Object.setPrototypeOf(LockError.prototype, HttpException.prototype);
}

/** The metadata keys of `@Catch`, `@WebSocketGateway` and `@UseFilters`; Nest 11 and 12 export them from different files. */
const CAUGHT = '__filterCatchExceptions__';
const IS_GATEWAY = 'websockets:is_gateway';
const FILTERS = '__exceptionFilters__';

const logger = new Logger('DistributedLock');

/** The global filter of a module instance: sends lock errors to HTTP and GraphQL clients and remote callers. */
export class LockExceptionFilter implements ExceptionFilter<LockError> {
  /** @param defaultOrigin returns the origin of errors that the application created itself */
  constructor(
    private readonly defaultOrigin: () => ErrorOrigin | undefined,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  /** Returns `undefined` for other transports, which leaves the error to Nest. */
  catch(caught: LockError, host: ArgumentsHost): Observable<never> | undefined {
    const error = withoutKey(originate(caught, this.defaultOrigin()), host);
    const { http, rpc } = settingsOf(error);
    const type = host.getType<string>();
    if (type === 'rpc') {
      return http === false ? undefined : throwError(() => remoteError(error, rpc.showKeys));
    }
    // Nest would send the same response, but does not log an HttpException.
    if (http === false) logOnce(error);
    if (type === 'graphql') throw error;
    if (responseOf(host) === undefined) return undefined;
    const response = host.getArgByIndex<object>(1);
    const { httpAdapter } = this.adapterHost;
    if (httpAdapter.isHeadersSent(response)) httpAdapter.end(response);
    else httpAdapter.reply(response, error.getResponse(), error.getStatus());
    return undefined;
  }
}

/** The exception types of one filter. A filter without types catches everything. */
type ExceptionTypes = readonly (abstract new (...args: never) => unknown)[];

/**
 * The same filter, for lock errors that no other global filter of the application catches. Nest uses the first filter
 * that catches an exception, and asks the filters of modules that it scanned earlier after this one.
 */
export function lastGlobalFilter(
  modules: ModulesContainer,
  ...dependencies: ConstructorParameters<typeof LockExceptionFilter>
): ExceptionFilter<LockError> {
  let others: readonly ExceptionTypes[] | undefined;
  abstract class UnclaimedLockError extends LockError {
    static override [Symbol.hasInstance](error: unknown): boolean {
      if (!(error instanceof LockError)) return false;
      others ??= caughtByOthers(modules);
      return !others.some((types) => types.length === 0 || types.some((type) => error instanceof type));
    }
  }
  @Catch(UnclaimedLockError)
  class LastGlobalFilter extends LockExceptionFilter {}
  return new LastGlobalFilter(...dependencies);
}

/** The types of each `APP_FILTER` of the application, except request-scoped filters, which Nest asks first anyway. */
function caughtByOthers(modules: ModulesContainer): readonly ExceptionTypes[] {
  const caught: ExceptionTypes[] = [];
  for (const { providers } of modules.values()) {
    for (const { subtype, instance } of providers.values()) {
      const filter = instance as object | null | undefined;
      if (subtype !== 'filter' || !filter || filter instanceof LockExceptionFilter) continue;
      caught.push((Reflect.getMetadata(CAUGHT, filter.constructor) ?? []) as ExceptionTypes);
    }
  }
  return caught;
}

/** Lock errors, except those of module instances with `http: false`. */
abstract class AnsweredLockError extends LockError {
  static override [Symbol.hasInstance](error: unknown): boolean {
    return error instanceof LockError && settingsOf(error).http !== false;
  }
}

/** Sends lock errors to clients of a gateway as Nest sends a `WsException`: in an `exception` event, without keys. */
@Catch(AnsweredLockError)
export class GatewayFilter implements ExceptionFilter<LockError> {
  catch(error: LockError, host: ArgumentsHost): void {
    const client: SocketClient = host.switchToWs().getClient();
    const data = remoteError(withoutKey(error, host), false);
    // On a native WebSocket, `emit()` only calls its own listeners.
    if (typeof client.readyState === 'number') client.send?.(JSON.stringify({ event: 'exception', data }));
    else client.emit?.('exception', data);
  }
}

/** A client of socket.io or ws. */
interface SocketClient {
  readonly readyState?: number;
  emit?(event: string, payload: object): unknown;
  send?(message: string): unknown;
}

const gatewayFilter = new GatewayFilter();

/** Adds the filter to every gateway, after the gateway's own filters, as Nest applies no global filter there. */
export function filterGateways(modules: ModulesContainer): void {
  for (const { providers } of modules.values()) {
    for (const { metatype } of providers.values()) {
      if (typeof metatype !== 'function' || !Reflect.hasMetadata(IS_GATEWAY, metatype)) continue;
      const filters = (Reflect.getMetadata(FILTERS, metatype) ?? []) as readonly unknown[];
      if (filters.includes(gatewayFilter)) continue;
      Reflect.defineMetadata(FILTERS, [gatewayFilter, ...filters], metatype);
    }
  }
}

/** The format in which Nest sends errors to remote clients; an `Error` would lose its message in transit. */
function remoteError({ message, code, keys }: LockError, showKeys: boolean): object {
  return showKeys
    ? { status: 'error', message, code, keys }
    : { status: 'error', message: ANSWERS[code].message, code };
}

const logged = new WeakSet<LockError>();

function logOnce(error: LockError): void {
  if (logged.has(error)) return;
  logged.add(error);
  logger.error(error.stack ?? error.message);
}

/** Metadata of `@EventPattern`; the package is optional. */
const HANDLER_TYPE = 'microservices:handler_type';
const EVENT = 2;
const PATTERN = 'microservices:pattern';

/**
 * Logs a lock error of an event handler, once. No client waits for its reply, and Nest logs no `HttpException`, so the
 * event would be dropped without a trace.
 */
export function logDroppedEvent(error: unknown, handler: object | undefined, name: string): void {
  if (!(error instanceof LockError) || handler === undefined || logged.has(error)) return;
  if (Reflect.getMetadata(HANDLER_TYPE, handler) !== EVENT) return;
  logged.add(error);
  const patterns = [Reflect.getMetadata(PATTERN, handler)].flat().map((pattern) => JSON.stringify(pattern));
  const fault = ANSWERS[error.code].status === 500 ? [error.stack] : [];
  logger.error(`${name} did not handle the event ${patterns.join(', ')}: ${error.message}`, ...fault);
}

/** Copies made by {@link withoutKey}. */
const copies = new WeakSet<LockError>();

/**
 * Returns an error of the same class for exception filters and clients, whose message, trace, JSON and enumerable
 * properties do not reveal the key; `cause` is the original. Sets `Retry-After` over HTTP, and logs faults. Returns the
 * original if no client waits for a response, or the client is a remote caller (RPC) that may see the key.
 */
export function withoutKey(error: LockError, host: ArgumentsHost): LockError {
  const { http, rpc } = settingsOf(error);
  const type = host.getType<string>();
  const response = responseOf(host);
  const hasClient = response !== undefined || ['graphql', 'ws', 'rpc'].includes(type);
  if (copies.has(error) || !hasClient) return error;
  // Mercurius takes the status of the response from this property, which other errors do not have.
  const forGraphql = type === 'graphql' ? { statusCode: undefined } : {};
  if (http === false) return type === 'graphql' ? copyOf(error, forGraphql) : error;

  const { status, retryAfter } = ANSWERS[error.code];
  // A conflict is logged nowhere else. It is a fault, unless a deployment is in progress.
  if (status === 500 || error instanceof LockConflictError) logOnce(error);
  if (response?.headersSent === false && retryAfter !== undefined) {
    response.setHeader('Retry-After', String(retryAfter));
  }
  if (type === 'rpc' && rpc.showKeys) return error;
  const { message } = ANSWERS[error.code];
  return copyOf(error, {
    message,
    stack: error.stack?.replace(error.message, () => message),
    cause: error,
    toJSON: () => error.getResponse(),
    // What GraphQL sends to clients besides the message.
    extensions: { code: error.code },
    ...forGraphql,
  });
}

function copyOf(error: LockError, properties: object): LockError {
  const copy = Object.create(error) as LockError;
  for (const [name, value] of [...Object.entries(error), ...Object.entries(properties)]) {
    Object.defineProperty(copy, name, { value, enumerable: false, configurable: true, writable: true });
  }
  copies.add(copy);
  return copy;
}

/**
 * Node's response: Express extends it, Fastify wraps it as `raw`, and middleware on Fastify receives it directly.
 * Undefined for other transports, and for handlers outside of Nest's router, such as commands, whose type is `http` too.
 */
export function responseOf(host: ArgumentsHost): ServerResponse | undefined {
  if (host.getType() !== 'http') return undefined;
  const given = host.getArgByIndex<(ServerResponse & { readonly raw?: ServerResponse }) | undefined>(1);
  const response = given?.raw ?? given;
  return typeof response?.setHeader === 'function' ? response : undefined;
}
