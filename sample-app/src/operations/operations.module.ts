import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { LockHealthModule } from 'nestjs-distributed-lock/health';

import { HealthController } from './health.controller.js';
import { MetricsController } from './metrics.controller.js';

/** Health and metrics for operators. */
@Module({
  imports: [TerminusModule, LockHealthModule.forRoot()],
  controllers: [HealthController, MetricsController],
})
export class OperationsModule {}
