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
  type Type,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { delay, from, map, raceWith, type Observable } from 'rxjs';
import { Locked, LockService } from '../../../lib/index.js';
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

/** Metadata, and a guard that reads it, an interceptor and a pipe that work on the receipt. */
const Around = (role: 'clerk' | 'guest') =>
  applyDecorators(SetMetadata(ROLE, role), UseGuards(NeedsClerk), UseInterceptors(Stamp), UsePipes(Shout));

/** How a transport declares handlers. */
export interface Transport {
  readonly Handlers: ClassDecorator;
  readonly Handler: (name: HandlerName) => MethodDecorator;
  readonly Buyer: ParameterDecorator;
  readonly soldOut: Error;
}

export type HandlerName =
  'take' | 'hurry' | 'crowd' | 'fail' | 'impatient' | 'above' | 'below' | 'deniedabove' | 'deniedbelow';

/** The locked handlers that every transport with a pipeline has, see transport.rules.ts. */
export function ordersOf({ Handlers, Handler, Buyer, soldOut }: Transport): Type {
  @Handlers
  class Orders {
    constructor(private readonly stock: Stock) {}

    @Handler('take')
    @Locked({ key: KEY, waitTime: 15_000 })
    async take(@Buyer buyer: string): Promise<Receipt> {
      return this.stock.take(buyer);
    }

    @Handler('hurry')
    @Locked({ key: KEY, waitTime: 0 })
    async hurry(@Buyer buyer: string): Promise<Receipt> {
      return this.stock.take(buyer);
    }

    @Handler('crowd')
    @Locked({ key: KEY, maxWaiting: 0 })
    async crowd(@Buyer buyer: string): Promise<Receipt> {
      return this.stock.take(buyer);
    }

    @Handler('fail')
    @Locked(KEY)
    async fail(@Buyer _buyer: string): Promise<Receipt> {
      return Promise.reject(soldOut);
    }

    @UseInterceptors(TimeLimit)
    @Handler('impatient')
    @Locked({ key: KEY, waitTime: 15_000 })
    async impatient(@Buyer buyer: string): Promise<Receipt> {
      return this.stock.take(buyer);
    }

    @Around('clerk')
    @Handler('above')
    @Locked(KEY)
    async above(@Buyer buyer: string): Promise<Receipt> {
      return this.stock.take(buyer);
    }

    @Locked(KEY)
    @Handler('below')
    @Around('clerk')
    async below(@Buyer buyer: string): Promise<Receipt> {
      return this.stock.take(buyer);
    }

    @Around('guest')
    @Handler('deniedabove')
    @Locked(KEY)
    async deniedabove(@Buyer buyer: string): Promise<Receipt> {
      return this.stock.take(buyer);
    }

    @Locked(KEY)
    @Handler('deniedbelow')
    @Around('guest')
    async deniedbelow(@Buyer buyer: string): Promise<Receipt> {
      return this.stock.take(buyer);
    }
  }
  return Orders;
}
