import {
  Body,
  ConflictException,
  Controller,
  Inject,
  Module,
  Param,
  Post,
  type DynamicModule,
} from '@nestjs/common';
import { ClientProxy, ClientsModule, Transport } from '@nestjs/microservices';
import type { LockErrorCode } from 'nestjs-distributed-lock';
import { catchError, map, type Observable } from 'rxjs';

const BUSY: LockErrorCode = 'LOCK_TIMEOUT';

@Controller('orders')
class OrdersController {
  constructor(@Inject('STOCK') private readonly stock: ClientProxy) {}

  @Post(':sku')
  order(@Param('sku') sku: string, @Body() { quantity }: { quantity: number }): Observable<{ left: number }> {
    return this.stock.send<number>('deduct', { sku, quantity }).pipe(
      map((left) => ({ left })),
      // The error arrives as data, not as an instance of LockTimeoutError.
      catchError((error: { code?: string }) => {
        if (error.code === BUSY) throw new ConflictException(`Others order ${sku} at the moment. Try again.`);
        throw error;
      }),
    );
  }
}

@Module({ controllers: [OrdersController] })
export class ShopModule {
  static forStockAt(port: number): DynamicModule {
    const stock = { name: 'STOCK', transport: Transport.TCP, options: { port } } as const;
    return { module: ShopModule, imports: [ClientsModule.register([stock])] };
  }
}
