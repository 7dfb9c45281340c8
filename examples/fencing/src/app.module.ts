import { Module } from '@nestjs/common';
import { DistributedLockModule } from 'nestjs-distributed-lock';
import { SeatsController } from './seats.controller.js';
import { SeatsTable } from './seats.table.js';

@Module({
  imports: [DistributedLockModule.forRoot({ redis: process.env.REDIS_URL ?? 'redis://localhost:6379' })],
  controllers: [SeatsController],
  providers: [SeatsTable],
})
export class AppModule {}
