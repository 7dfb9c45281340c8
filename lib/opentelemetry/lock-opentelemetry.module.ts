import { Inject, Module, type DynamicModule, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { LockRecorder } from '../instruments/lock-recorder.js';
import { lockServicesOf } from '../instruments/lock-services.js';
import { check, checkNames, checkObject, checkOneOf } from '../model/option-checks.js';
import { LockMeters } from './lock-meters.js';
import { LockSpans, type WhichSpans } from './lock-spans.js';

export interface LockOpenTelemetryOptions {
  /**
   * Which spans are made. `'waits'`: `lock acquire {name}` for calls that waited or failed, and `lock hold {name}` around
   * all work under a lock; `'all'`: both for every call; `'none'`: none.
   *
   * @default 'waits'
   */
  readonly spans?: WhichSpans | undefined;
  /**
   * Whether spans have the keys of locks, as `distributed_lock.keys`: they may tell of persons or orders. The channel of
   * ioredis itself shows them, with all other arguments of scripts, to whoever traces that.
   *
   * @default false
   */
  readonly recordKeys?: boolean | undefined;
  /** Whether there are metrics. @default true */
  readonly metrics?: boolean | undefined;
  /** @default the global one */
  readonly meterProvider?: MeterProvider | undefined;
  /** @default the global one */
  readonly tracerProvider?: TracerProvider | undefined;
}

const OPTIONS = Symbol('options of LockOpenTelemetryModule');
const KNOWN: ReadonlySet<string> = new Set<keyof LockOpenTelemetryOptions>([
  'spans',
  'recordKeys',
  'metrics',
  'meterProvider',
  'tracerProvider',
]);

/**
 * Metrics and spans of all locks of this process for OpenTelemetry. Import it once, into the root module. The SDK has to be
 * registered before the application starts: instruments that are made before it would stay silent, so they are made when
 * the module starts.
 */
@Module({})
export class LockOpenTelemetryModule implements OnModuleInit, OnModuleDestroy {
  private readonly stops: (() => void)[] = [];

  constructor(
    @Inject(OPTIONS) private readonly options: LockOpenTelemetryOptions,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {}

  /** @throws LockOptionsError for options that can't work */
  static forRoot(options: LockOpenTelemetryOptions = {}): DynamicModule {
    const where = 'LockOpenTelemetryModule.forRoot()';
    checkNames(where, checkObject(where, options), KNOWN);
    const { spans = 'waits', recordKeys = false, metrics = true } = options;
    checkOneOf(where, 'spans', spans, ['waits', 'all', 'none']);
    check(typeof recordKeys === 'boolean', where, 'recordKeys must be true or false', recordKeys);
    check(typeof metrics === 'boolean', where, 'metrics must be true or false', metrics);
    return { module: LockOpenTelemetryModule, providers: [{ provide: OPTIONS, useValue: options }] };
  }

  onModuleInit(): void {
    const { spans = 'waits', recordKeys = false, metrics = true } = this.options;
    const { meterProvider, tracerProvider } = this.options;
    if (metrics) {
      const meters = new LockMeters(meterProvider, () => lockServicesOf(this.modules));
      const recorder = new LockRecorder(meters);
      recorder.start();
      this.stops.push(() => {
        recorder.stop();
        meters.stop();
      });
    }
    if (spans !== 'none') {
      const tracing = new LockSpans(tracerProvider, spans, recordKeys);
      tracing.start();
      this.stops.push(() => {
        tracing.stop();
      });
    }
  }

  onModuleDestroy(): void {
    for (const stop of this.stops.splice(0)) stop();
  }
}
