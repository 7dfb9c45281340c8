import { Module } from '@nestjs/common';
import { DistributedLockModule } from 'nestjs-distributed-lock';
import { redissonStore } from 'nestjs-distributed-lock/redisson';
import { OrdersController } from './orders.controller.js';

@Module({
  imports: [
    DistributedLockModule.forRoot({
      store: redissonStore({ redis: process.env.REDIS_URL ?? 'redis://localhost:6379' }),
    }),
  ],
  controllers: [OrdersController],
})
export class AppModule {}
