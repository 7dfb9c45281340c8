import {
  applyDecorators,
  Injectable,
  RequestTimeoutException,
  SetMetadata,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { delay, from, map, raceWith, type Observable } from 'rxjs';
import { LockService } from '../../../lib/index.js';
import { KEY, Stock, type Receipt } from './stock.js';

const ROLE = 'compatibility:role';

@Injectable()
class NeedsClerk implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    return this.reflector.get<unknown>(ROLE, context.getHandler()) === 'clerk';
  }
}

@Injectable()
class Shout implements PipeTransform {
  transform(value: unknown): string {
    return String(value).toUpperCase();
  }
}

/** Records on the receipt whether the lock is held after the handler. */
@Injectable()
class Stamp implements NestInterceptor<Receipt, Receipt> {
  constructor(private readonly locks: LockService) {}

  intercept(_: ExecutionContext, next: CallHandler<Receipt>): Observable<Receipt> {
    return next
      .handle()
      .pipe(map((receipt) => ({ ...receipt, stamped: this.locks.current(KEY)?.isHeld === true })));
  }
}

/** A time limit: its pipeline ends while the handler waits, or 50 ms after slow work has begun. */
@Injectable()
class TimeLimit implements NestInterceptor {
  constructor(private readonly stock: Stock) {}

  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    const over = from(this.stock.slowly?.reached ?? Promise.resolve()).pipe(
      delay(50),
      map(() => {
        throw new RequestTimeoutException();
      }),
    );
    return next.handle().pipe(raceWith(over));
  }
}

export const Impatient = () => UseInterceptors(TimeLimit);

/** Metadata, and a guard that reads it, an interceptor and a pipe that work on the receipt. */
export const Around = (role: 'clerk' | 'guest') =>
  applyDecorators(SetMetadata(ROLE, role), UseGuards(NeedsClerk), UseInterceptors(Stamp), UsePipes(Shout));
