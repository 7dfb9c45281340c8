import {
  Inject,
  Module,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { LockGauges } from '../instruments/lock-gauges.js';
import { LockRecorder } from '../instruments/lock-recorder.js';
import { lockAdminsOf } from '../instruments/sources.js';
import { checkOptions, flag, oneOf, option, type Checked } from '../model/option-checks.js';
import { LockOptionsError } from '../model/lock.errors.js';
import { asyncOptions } from '../nest/module/async-options.js';
import { refuseLazyLoad } from '../nest/module/lazy-load.js';
import { onePerProcess } from '../nest/module/one-per-process.js';
import { LockMeters } from './lock-meters.js';
import { LockSpans, type WhichSpans } from './lock-spans.js';

export interface LockOpenTelemetryOptions {
  /**
   * Which spans to create. `'waits'`: `lock acquire {name}` for calls that waited or failed, and `lock hold {name}` around
   * all work under a lock. `'all'`: both for every call. `'none'`: none.
   *
   * @default 'waits'
   */
  readonly spans?: WhichSpans | undefined;
  /**
   * Whether spans contain the keys of locks (`distributed_lock.keys`) and the messages of lock errors, which name the keys.
   * Keys may identify persons or orders. An instrumentation of ioredis records them regardless, as arguments of scripts.
   *
   * @default false
   */
  readonly recordKeys?: boolean | undefined;
  /**
   * Whether to record metrics.
   *
   * @default true
   */
  readonly metrics?: boolean | undefined;
  /** @default the global one at the start of the application */
  readonly meterProvider?: MeterProvider | undefined;
  /** @default the global one */
  readonly tracerProvider?: TracerProvider | undefined;
}

/** Options of `LockOpenTelemetryModule.forRootAsync`. */
export type LockOpenTelemetryAsyncOptions = ConfigurableModuleAsyncOptions<LockOpenTelemetryOptions>;

const WHERE = 'LockOpenTelemetryModule.forRoot()';
const OPTIONS = Symbol('import LockOpenTelemetryModule.forRoot(), not the class itself');
const CHECKS = {
  spans: oneOf<WhichSpans>('waits', ['all', 'none']),
  recordKeys: flag(false),
  metrics: flag(true),
  meterProvider: option('a MeterProvider', (value): value is MeterProvider => has(value, 'getMeter')),
  tracerProvider: option('a TracerProvider', (value): value is TracerProvider => has(value, 'getTracer')),
};

/**
 * Records metrics and spans of all locks of this process with OpenTelemetry, from the start of the application to its
 * shutdown. Import it once, into the root module. Set up the SDK before the application starts: the module creates its
 * instruments then, and those created without a `MeterProvider` record nothing.
 */
@onePerProcess('LockOpenTelemetryModule')
@Module({})
export class LockOpenTelemetryModule implements OnModuleInit, OnApplicationShutdown {
  private readonly stops: (() => void)[] = [];

  constructor(
    @Inject(OPTIONS) private readonly options: ResolvedOptions,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {
    refuseLazyLoad(modules, LockOpenTelemetryModule, 'LockOpenTelemetryModule');
  }

  /** @throws LockOptionsError for invalid options */
  static forRoot(options: LockOpenTelemetryOptions = {}): DynamicModule {
    const useValue = resolveOptions(WHERE, options);
    return { module: LockOpenTelemetryModule, providers: [{ provide: OPTIONS, useValue }] };
  }

  /** Takes the options from a factory, a class (method `create`) or an existing provider. */
  static forRootAsync(options: LockOpenTelemetryAsyncOptions): DynamicModule {
    const where = 'LockOpenTelemetryModule.forRootAsync()';
    return { module: LockOpenTelemetryModule, ...asyncOptions(where, options, OPTIONS, resolveOptions) };
  }

  /** @throws LockOptionsError if the module is imported twice */
  onModuleInit(): void {
    this.refuseDuplicate();
    const { spans, recordKeys, metrics, meterProvider, tracerProvider } = this.options;
    if (metrics) {
      const meters = new LockMeters(meterProvider, new LockGauges(() => lockAdminsOf(this.modules)));
      this.stops.push(new LockRecorder(meters).start(), () => meters.stop());
    }
    if (spans !== 'none') this.stops.push(new LockSpans(tracerProvider, spans, recordKeys).start());
  }

  /** The last hook: locks are in use until then. */
  onApplicationShutdown(): void {
    for (const stop of this.stops.splice(0)) stop();
  }

  private refuseDuplicate(): void {
    const all = [...this.modules.values()].filter(({ metatype }) => metatype === LockOpenTelemetryModule);
    if (all.length < 2) return;
    throw new LockOptionsError(
      'LockOpenTelemetryModule is imported twice, and would count everything twice. Import it once, into the root module.',
    );
  }
}

type ResolvedOptions = Checked<typeof CHECKS>;

function resolveOptions(where: string, options: LockOpenTelemetryOptions): ResolvedOptions {
  return checkOptions(where, options, CHECKS);
}

function has(value: unknown, method: string): boolean {
  return typeof value === 'object' && value !== null && method in value;
}
