import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { LockHealthIndicator } from 'nestjs-distributed-lock/health';

import { HealthController } from './health.controller.js';
import { MetricsController } from './metrics.controller.js';

/** Health and metrics for operators. */
@Module({
  imports: [TerminusModule],
  controllers: [HealthController, MetricsController],
  providers: [LockHealthIndicator],
})
export class OperationsModule {}
