import { Controller, Get } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { HealthCheck, HealthCheckService, TerminusModule, type HealthCheckResult } from '@nestjs/terminus';
import { LockHealthIndicator } from '../../../lib/health/index.js';
import { DistributedLockModule, type DistributedLockOptions } from '../../../lib/index.js';
import { until } from '../../support/until.js';
import { HttpApps, type HttpApp } from './http-app.js';

/** What a request waits for the probe at most, ms. */
export const PROBE = 300;

@Controller('ready')
export class Readiness {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: LockHealthIndicator,
  ) {}

  /** Down as soon as the store does not answer. */
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

  /** As terminus 11 needs it. */
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
  /** What is said of everything. */
  readonly whole: string;
  readonly locks: Readonly<Record<string, unknown>> & { readonly reasons: readonly string[] };
}

/** Applications that are asked whether they are ready, as Kubernetes does. */
export class ReadyApps {
  private readonly apps = new HttpApps();

  start(options: DistributedLockOptions, adapter?: AbstractHttpAdapter): Promise<HttpApp> {
    return this.apps.start(
      {
        imports: [DistributedLockModule.forRoot(options), TerminusModule.forRoot({ logger: false })],
        controllers: [Readiness],
        providers: [LockHealthIndicator],
      },
      undefined,
      adapter,
    );
  }

  async ask(app: HttpApp, path = 'strict'): Promise<ReadyAnswer> {
    const { status, body } = await app.get(`/ready/${path}`);
    const { status: whole, details } = body as { status: string; details: { locks: ReadyAnswer['locks'] } };
    return { status, whole, locks: details.locks };
  }

  /** The first answer with that status. */
  answered(app: HttpApp, status: number, path?: string): Promise<ReadyAnswer> {
    return until(
      `it answers ${String(status)}`,
      async () => {
        const answer = await this.ask(app, path);
        return answer.status === status ? answer : undefined;
      },
      { deadline: 60_000 },
    );
  }

  close(): Promise<void> {
    return this.apps.close();
  }
}
