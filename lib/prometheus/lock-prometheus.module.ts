import { Inject, Module, type DynamicModule, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { register as defaultRegister, type Registry } from 'prom-client';
import { LockRecorder } from '../instruments/lock-recorder.js';
import { lockServicesOf } from '../instruments/lock-services.js';
import { checkNames, checkObject } from '../model/option-checks.js';
import { LockCollectors } from './lock-collectors.js';

export interface LockPrometheusOptions {
  /**
   * The registry that gets the metrics, and that the application serves.
   *
   * @default the default registry of prom-client
   */
  readonly register?: Registry | undefined;
}

const OPTIONS = Symbol('options of LockPrometheusModule');
const KNOWN: ReadonlySet<string> = new Set<keyof LockPrometheusOptions>(['register']);

/**
 * Puts the metrics of all locks of this process into a registry of prom-client. Import it once, into the root module;
 * serving the registry is up to the application.
 */
@Module({})
export class LockPrometheusModule implements OnModuleInit, OnModuleDestroy {
  private readonly collectors: LockCollectors;
  private readonly recorder: LockRecorder;

  constructor(
    @Inject(OPTIONS) options: LockPrometheusOptions,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {
    this.collectors = new LockCollectors(options.register ?? defaultRegister);
    this.recorder = new LockRecorder(this.collectors);
  }

  /** @throws LockOptionsError for options that can't work */
  static forRoot(options: LockPrometheusOptions = {}): DynamicModule {
    const where = 'LockPrometheusModule.forRoot()';
    checkNames(where, checkObject(where, options), KNOWN);
    return { module: LockPrometheusModule, providers: [{ provide: OPTIONS, useValue: options }] };
  }

  /** @throws Error if the registry has metrics of these names already */
  onModuleInit(): void {
    this.collectors.register(() => lockServicesOf(this.modules));
    this.recorder.start();
  }

  onModuleDestroy(): void {
    this.recorder.stop();
    this.collectors.remove();
  }
}
