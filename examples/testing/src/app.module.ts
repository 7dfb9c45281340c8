import { Module } from '@nestjs/common';
import { DistributedLockModule } from 'nestjs-distributed-lock';
import { Bank, Payments, PaymentsController } from './payments.js';

export const locksModule = DistributedLockModule.forRoot({
  redis: process.env.REDIS_URL ?? 'redis://localhost:6379',
});

@Module({
  imports: [locksModule],
  providers: [Bank, Payments],
  controllers: [PaymentsController],
})
export class AppModule {}
