import { Controller, Module } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import { DistributedLockModule, Locked } from 'nestjs-distributed-lock';

interface Order {
  readonly sku: string;
  readonly quantity: number;
}

@Controller()
class StockController {
  private readonly stock = new Map<string, number>();

  @MessagePattern('deduct')
  @Locked({ key: ({ sku }: Order) => `stock:${sku}`, waitTime: 500 })
  async deduct(@Payload() { sku, quantity }: Order): Promise<number> {
    const left = (this.stock.get(sku) ?? 100) - quantity;
    this.stock.set(sku, left);
    return left;
  }
}

@Module({
  imports: [DistributedLockModule.forRoot({ redis: process.env.REDIS_URL ?? 'redis://localhost:6379' })],
  controllers: [StockController],
})
export class StockModule {}
