import { Catch, HttpException, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { throwError, type Observable } from 'rxjs';
import { answerTo, isFault } from '../../model/error-answers.js';
import { LockError, originate, originOf, settingsOf } from '../../model/lock.errors.js';

// The errors themselves are defined without Nest, which the command line and tests can do without.
if (!(LockError.prototype instanceof HttpException)) {
  Object.setPrototypeOf(LockError.prototype, HttpException.prototype);
}

const logger = new Logger('DistributedLock');

/** Lock errors, except those of module instances with `http: false`. */
export abstract class AnsweredLockError extends LockError {
  static override [Symbol.hasInstance](error: unknown): boolean {
    return error instanceof LockError && settingsOf(error).http !== false;
  }
}

/** The global filter of a module instance: answers HTTP requests, GraphQL clients and remote callers (B41). */
@Catch(AnsweredLockError)
export class LockExceptionFilter implements ExceptionFilter<LockError> {
  /** @param defaultOrigin returns the origin of errors that the application created itself */
  constructor(
    private readonly defaultOrigin: () => object,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  /** `undefined`, for other transports, leaves the error to Nest. */
  catch(error: LockError, host: ArgumentsHost): Observable<never> | undefined {
    originate(error, this.defaultOrigin());
    const type = host.getType<string>();
    const response = responseOf(host);
    if (response === undefined && type !== 'graphql' && type !== 'rpc') return undefined;
    logFault(error);
    if (type === 'graphql') throw forGraphQL(error);
    if (response === undefined) return throwError(() => remoteError(error, settingsOf(error).rpc.showKeys));
    setRetryAfter(response, error);
    const { httpAdapter } = this.adapterHost;
    if (httpAdapter.isHeadersSent(response)) httpAdapter.end(response);
    else httpAdapter.reply(response, error.getResponse(), error.getStatus());
    return undefined;
  }
}

/** Sends lock errors to clients of a gateway as Nest sends a `WsException`, in an `exception` event, without keys (B41). */
@Catch(AnsweredLockError)
export class GatewayFilter implements ExceptionFilter<LockError> {
  catch(error: LockError, host: ArgumentsHost): void {
    const client: SocketClient = host.switchToWs().getClient();
    logFault(error);
    const data = remoteError(error, false);
    // The emit() of a native WebSocket notifies only its own listeners.
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

/** The metadata keys of `@WebSocketGateway` and `@UseFilters`; Nest 11 and 12 export them from different files. */
const IS_GATEWAY = 'websockets:is_gateway';
const FILTERS = '__exceptionFilters__';
const gatewayFilter = new GatewayFilter();

/** Adds the filter to every gateway, after the gateway's own filters: Nest applies no global filter there. */
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

/** Logs an error that clients can do nothing about. */
export function logFault(error: LockError): void {
  if (isFault(error.code)) logError(error);
}

export function logError(error: LockError): void {
  logger.error(error.stack ?? error.message);
}

/** The response of Express, of Fastify, or of Node, which middleware gets on Fastify. */
interface Response {
  readonly headersSent?: boolean;
  readonly raw?: { readonly headersSent?: boolean };
  setHeader?(name: string, value: string): unknown;
  header?(name: string, value: string): unknown;
}

/** Undefined for other transports, and for handlers outside of Nest's router, such as commands, whose type is `http` too. */
export function responseOf(host: ArgumentsHost): Response | undefined {
  if (host.getType() !== 'http') return undefined;
  const response = host.getArgByIndex<Response | undefined>(1);
  return typeof (response?.setHeader ?? response?.header) === 'function' ? response : undefined;
}

export function setRetryAfter(response: Response, { code }: LockError): void {
  const seconds = answerTo(code).retryAfter;
  if (seconds === undefined || (response.raw ?? response).headersSent === true) return;
  if (typeof response.setHeader === 'function') response.setHeader('Retry-After', String(seconds));
  else response.header?.('Retry-After', String(seconds));
}

/** The form in which Nest sends errors to remote clients; an `Error` would lose its message on the way. */
function remoteError({ message, code, keys }: LockError, showKeys: boolean): object {
  return showKeys
    ? { status: 'error', message, code, keys }
    : { status: 'error', message: answerTo(code).message, code };
}

/** GraphQL sends `message` and `extensions` to clients. */
export function forGraphQL(error: LockError): LockError {
  return withoutKey(error, { extensions: { code: error.code } });
}

/**
 * Takes the place of a lock error where clients may get to see what it contains: of the same class, but message, trace,
 * JSON and enumerable properties do not reveal the key. `cause` is the error itself.
 */
export function withoutKey(error: LockError, extra: object = {}): LockError {
  const { message } = answerTo(error.code);
  const properties = {
    message,
    stack: error.stack?.replace(error.message, () => message),
    cause: error,
    toJSON: () => error.getResponse(),
    ...extra,
  };
  const copy = Object.create(error) as LockError;
  for (const [name, value] of [...Object.entries(error), ...Object.entries(properties)]) {
    Object.defineProperty(copy, name, { value, enumerable: false, configurable: true, writable: true });
  }
  const origin = originOf(error);
  return origin === undefined ? copy : originate(copy, origin);
}
