import { setTimeout } from 'node:timers/promises';
import { Controller, Module, Param, Post } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { MessagePattern, Payload } from '@nestjs/microservices';
import { DistributedLockModule, Locked } from 'nestjs-distributed-lock';
import { LockBusyFilter } from './lock-busy.filter.js';

@Controller('seats')
class SeatsController {
  @Post(':id/bookings')
  @Locked({ key: (id: string) => `seat:${id}`, waitTime: 500 })
  async book(@Param('id') id: string): Promise<{ booked: string }> {
    await setTimeout(2_000);
    return { booked: id };
  }

  /** The lock of `book` is re-entrant. */
  @MessagePattern('book')
  @Locked({ key: (id: string) => `seat:${id}`, waitTime: 500 })
  bookByMessage(@Payload() id: string): Promise<{ booked: string }> {
    return this.book(id);
  }
}

@Module({
  imports: [DistributedLockModule.forRoot({ redis: process.env.REDIS_URL ?? 'redis://localhost:6379' })],
  controllers: [SeatsController],
  providers: [{ provide: APP_FILTER, useClass: LockBusyFilter }],
})
export class AppModule {}
