import { Controller, Get } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TerminusModule, type HealthCheckResult } from '@nestjs/terminus';
import { LockHealthIndicator } from '../../../lib/health/index.js';
import { DistributedLockModule, type DistributedLockOptions } from '../../../lib/index.js';
import { until } from '../../support/until.js';
import { HttpApps, type HttpApp } from './http-app.js';

/** The longest time that a request waits for the probe, ms. */
export const PROBE = 300;

@Controller('ready')
export class Readiness {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: LockHealthIndicator,
  ) {}

  /** Down as soon as the store does not reply. */
  @Get('strict')
  @HealthCheck()
  strict(): Promise<HealthCheckResult> {
    return this.health.check([
      () =>
        this.locks.isHealthy('locks', {
          unreachableFor: 0,
          probeTimeout: PROBE,
          degradedStatus: 'degraded',
        }),
    ]);
  }

  /** In the form that terminus 11 needs. */
  @Get('patient')
  @HealthCheck()
  patient(): Promise<HealthCheckResult> {
    return this.health.check([
      () => this.locks.isHealthy('locks', { unreachableFor: Infinity, probeTimeout: PROBE }),
    ]);
  }
}

export interface ReadyAnswer {
  readonly status: number;
  /** The overall status. */
  readonly whole: string;
  readonly locks: Readonly<Record<string, unknown>> & { readonly reasons: readonly string[] };
}

/** Applications with readiness checks, as Kubernetes requests them. */
export class ReadyApps {
  private readonly apps = new HttpApps();

  start(options: DistributedLockOptions): Promise<HttpApp> {
    return this.apps.start({
      imports: [DistributedLockModule.forRoot(options), TerminusModule.forRoot({ logger: false })],
      controllers: [Readiness],
      providers: [LockHealthIndicator],
    });
  }

  async ask(app: HttpApp, path = 'strict'): Promise<ReadyAnswer> {
    const { status, body } = await app.get(`/ready/${path}`);
    const { status: whole, details } = body as { status: string; details: { locks: ReadyAnswer['locks'] } };
    return { status, whole, locks: details.locks };
  }

  /** The first response with that status. */
  answered(app: HttpApp, status: number, path?: string): Promise<ReadyAnswer> {
    return until(
      `it responds with ${String(status)}`,
      async () => {
        const answer = await this.ask(app, path);
        return answer.status === status ? answer : undefined;
      },
      { deadline: 60_000 },
    );
  }
}
