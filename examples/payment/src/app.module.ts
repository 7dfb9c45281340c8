import { BadRequestException, Body, Controller, Headers, Module, Post } from '@nestjs/common';
import { DistributedLockModule } from 'nestjs-distributed-lock';
import { PaymentsService, type Order, type Payment } from './payments.service.js';
import { ProviderController } from './provider.controller.js';

@Controller('payments')
class PaymentsController {
  constructor(private readonly payments: PaymentsService) {}

  @Post()
  async pay(@Headers('idempotency-key') key: string | undefined, @Body() order: Order): Promise<Payment> {
    if (!key || key.length > 100)
      throw new BadRequestException('Send an Idempotency-Key of 1 to 100 characters');
    return await this.payments.pay(key, order);
  }
}

@Module({
  imports: [
    DistributedLockModule.forRoot({
      redis: process.env.REDIS_URL ?? 'redis://localhost:6379',
      // After a crash the repeated request waits for the rest of this time, so it is less than `waitTime`.
      watchdogTimeout: 3_000,
      waitTime: 10_000,
    }),
  ],
  controllers: [PaymentsController, ProviderController],
  providers: [PaymentsService],
})
export class AppModule {}
