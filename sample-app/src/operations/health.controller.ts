import { Controller, Get } from '@nestjs/common';
import { HealthCheck, HealthCheckService, type HealthCheckResult } from '@nestjs/terminus';
import { LockHealthIndicator } from 'nestjs-distributed-lock/health';

@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: LockHealthIndicator,
  ) {}

  /** For readiness: no order can be placed while the lock store is unreachable. A restart would not help. */
  @Get()
  @HealthCheck()
  ready(): Promise<HealthCheckResult> {
    return this.health.check([
      () => this.locks.isHealthy('locks', { unreachableFor: 2_000, degradedStatus: 'degraded' }),
    ]);
  }
}
