import type { ServerResponse } from 'node:http';
import { Catch, ConflictException, type ArgumentsHost } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { LockTimeoutError } from 'nestjs-distributed-lock';

/** Answers 409 with its own body. For all other lock errors the library answers. */
@Catch(LockTimeoutError)
export class LockBusyFilter extends BaseExceptionFilter {
  override catch(_busy: LockTimeoutError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<ServerResponse>();
    response.setHeader('Retry-After', '2');
    super.catch(
      new ConflictException({
        type: 'https://example.com/problems/busy',
        title: 'Someone else is booking this seat. Try again.',
      }),
      host,
    );
  }
}
