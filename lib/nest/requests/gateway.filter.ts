import { Catch, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { LockError } from '../../model/lock.errors.js';
import { isFault, remoteError } from './answers.js';
import { settingsOfItsInstance } from './error-settings.js';

/** Under which `@WebSocketGateway` and `@UseFilters` write; Nest 11 and 12 export them from different places. */
const IS_GATEWAY = 'websockets:is_gateway';
const FILTERS = '__exceptionFilters__';

/** Lock errors, but those of module instances that leave them to the application (`http: false`). */
abstract class ToldLockError extends LockError {
  static override [Symbol.hasInstance](error: unknown): boolean {
    return error instanceof LockError && settingsOfItsInstance(error)?.http !== false;
  }
}

/** Sends lock errors to clients of a gateway as Nest sends a `WsException`, by an `exception` event, without keys (B41). */
@Catch(ToldLockError)
export class GatewayFilter implements ExceptionFilter<LockError> {
  private readonly logger = new Logger('DistributedLock');

  catch(error: LockError, host: ArgumentsHost): void {
    const client: SocketClient = host.switchToWs().getClient();
    if (isFault(error)) this.logger.error(error.stack ?? error.message);
    const data = remoteError(error, { showKeys: false });
    // The native WebSocket has an emit() too, which tells only its own listeners.
    if (typeof client.readyState === 'number') client.send?.(JSON.stringify({ event: 'exception', data }));
    else client.emit?.('exception', data);
  }
}

/** What socket.io gives, and ws. */
interface SocketClient {
  readonly readyState?: number;
  emit?(event: string, payload: object): unknown;
  send?(message: string): unknown;
}

const filter = new GatewayFilter();

/** Nest asks no global filter for gateways. So each gets this one, to be asked after those that it has itself. */
export function filterGateways(modules: ModulesContainer): void {
  for (const { providers } of modules.values()) {
    for (const { metatype } of providers.values()) {
      if (typeof metatype !== 'function' || !Reflect.hasMetadata(IS_GATEWAY, metatype)) continue;
      const filters = (Reflect.getMetadata(FILTERS, metatype) ?? []) as readonly unknown[];
      if (filters.includes(filter)) continue;
      Reflect.defineMetadata(FILTERS, [filter, ...filters], metatype);
    }
  }
}
