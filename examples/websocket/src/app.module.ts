import { Module } from '@nestjs/common';
import { DistributedLockModule } from 'nestjs-distributed-lock';
import { SeatsGateway } from './seats.gateway.js';

@Module({
  imports: [DistributedLockModule.forRoot({ redis: process.env.REDIS_URL ?? 'redis://localhost:6379' })],
  providers: [SeatsGateway],
})
export class AppModule {}
