/** Health checks with terminus 11, metrics and spans, while the Redis of REDIS_PID is paused and continues. */
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HealthCheck, HealthCheckService, TerminusModule, type HealthCheckResult } from '@nestjs/terminus';
import { trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { DistributedLockModule, LockAdmin, LockService } from 'nestjs-distributed-lock';
import { LockHealthIndicator } from 'nestjs-distributed-lock/health';
import { LockOpenTelemetryModule } from 'nestjs-distributed-lock/opentelemetry';
import { LockPrometheusModule } from 'nestjs-distributed-lock/prometheus';
import { register } from 'prom-client';

@Controller()
class Operations {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: LockHealthIndicator,
  ) {}

  @Get('ready')
  @HealthCheck()
  ready(): Promise<HealthCheckResult> {
    return this.health.check([() => this.locks.isHealthy('locks', { unreachableFor: 0, probeTimeout: 300 })]);
  }

  @Get('metrics')
  metrics(): Promise<string> {
    return register.metrics();
  }
}

@Module({
  imports: [
    TerminusModule.forRoot({ logger: false }),
    // The next renewal detects a loss.
    DistributedLockModule.forRoot({ redis: process.env['REDIS_URL'] ?? '', watchdogTimeout: 900 }),
    LockPrometheusModule.forRoot(),
    LockOpenTelemetryModule.forRoot({ spans: 'all' }),
  ],
  controllers: [Operations],
  providers: [LockHealthIndicator],
})
class AppModule {}

async function main(): Promise<void> {
  const spans = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
  );
  const app = await NestFactory.create(AppModule, { logger: ['error'] });
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as { port: number };
  const get = async (path: string): Promise<{ status: number; text: string }> => {
    const response = await fetch(`http://127.0.0.1:${String(port)}${path}`, {
      headers: { connection: 'close' },
    });
    return { status: response.status, text: await response.text() };
  };
  const statusIs = async (status: number): Promise<void> => {
    while ((await get('/ready')).status !== status);
  };

  const locks = app.get(LockService);
  const handle = await locks.acquire('lost');
  const lost = new Promise<void>((resolve) => {
    handle.signal.addEventListener('abort', () => {
      resolve();
    });
  });
  await app.get(LockAdmin).forceRelease('lost');
  await lost;
  await locks.withLock('k', { operation: 'checkout' }, () => undefined);
  const degraded = JSON.parse((await get('/ready')).text) as { status: string; info: object };
  const redis = Number(process.env['REDIS_PID']);
  process.kill(redis, 'SIGSTOP');
  try {
    await statusIs(503);
  } finally {
    process.kill(redis, 'SIGCONT');
  }
  await statusIs(200);
  const { text } = await get('/metrics');
  await app.close();
  console.log(
    JSON.stringify({
      degraded,
      metrics: text.match(/^# TYPE distributed_lock\w+/gm)?.length,
      counted: /^distributed_lock_hold_duration_seconds_count\{.*operation="checkout".*\} (\d+)$/m.exec(
        text,
      )?.[1],
      spans: spans.getFinishedSpans().map(({ name }) => name),
    }),
  );
}

void main();
