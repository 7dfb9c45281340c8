import type { ServerResponse } from 'node:http';
import { Catch, ConflictException, type ArgumentsHost } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { LockTimeoutError } from 'nestjs-distributed-lock';
import { throwError, type Observable } from 'rxjs';

/** Answers 409 with its own body. For all other lock errors the library answers. */
@Catch(LockTimeoutError)
export class LockBusyFilter extends BaseExceptionFilter {
  override catch(busy: LockTimeoutError, host: ArgumentsHost): Observable<never> | undefined {
    const type = host.getType<string>();
    // A global filter is also asked for message handlers and resolvers, which have no HTTP response.
    if (type === 'rpc') return throwError(() => ({ status: 'error', code: busy.code, message: 'busy' }));
    if (type !== 'http') throw busy;
    const response = host.switchToHttp().getResponse<ServerResponse>();
    response.setHeader('Retry-After', '2');
    super.catch(
      new ConflictException({
        type: 'https://example.com/problems/busy',
        title: 'Someone else is booking this seat. Try again.',
      }),
      host,
    );
    return undefined;
  }
}
