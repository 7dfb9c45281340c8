import 'reflect-metadata';
import {
  Global,
  Inject,
  Injectable,
  Logger,
  Module,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { LockAdmin } from '../api/lock-admin.js';
import { LockService } from '../api/lock.service.js';
import { LockEngine } from '../engine/lock-engine.js';
import { LockOptionsError } from '../model/lock.errors.js';
import { checkKey } from '../model/lock-key.js';
import { resolveLockOptions } from '../model/lock.options.js';
import { checkOptions, checkTime, type FactoryOptions } from '../model/option-checks.js';
import { asyncOptions } from '../nest/module/async-options.js';
import {
  resolveModuleOptions,
  type DistributedLockOptions,
} from '../nest/module/distributed-lock.options.js';
import { LockLifecycle, LockLifecycleModule } from '../nest/module/lock-lifecycle.js';
import {
  getLockAdminToken,
  getLockOptionsToken,
  getLockServiceToken,
} from '../nest/module/lock-service.injection.js';
import { onePerProcess } from '../nest/module/one-per-process.js';
import { LeaderElection, type ElectionHandler } from './leader-election.js';
import { ELECTIONS, electionMethodsOf, getLeaderElectionToken } from './leader.decorators.js';

export interface LeaderElectionOptions {
  /**
   * The `name` of the `DistributedLockModule` whose store elects the leader.
   *
   * @default the unnamed module
   */
  readonly instance?: string | undefined;
  /**
   * The lock that the leader holds: 1 … 1 024 bytes. All processes of an election need the same.
   *
   * @default `leader:` and the name of the election
   */
  readonly key?: string | undefined;
  /**
   * How long the lock of a leader that crashed stays held, 300 … 2 147 483 647 ms; on etcd and ZooKeeper up to 1.5
   * times as long, in whole seconds. The election then has its own session and connections.
   *
   * @default that of the module, without a separate session
   */
  readonly watchdogTimeout?: number | undefined;
  /**
   * Shown with the lock of the leader, 1 … 200 characters.
   *
   * @default `leader of` and the name of the election
   */
  readonly label?: string | undefined;
}

/** Options that a factory may return. `instance` goes next to it. */
type LeaderElectionFactoryOptions = Omit<LeaderElectionOptions, 'instance'>;

/** Options of `LeaderElectionModule.forFeatureAsync`. */
export type LeaderElectionAsyncOptions = ConfigurableModuleAsyncOptions<
  FactoryOptions<LeaderElectionFactoryOptions, 'instance'>
> &
  Pick<LeaderElectionOptions, 'instance'>;

const OPTIONS = Symbol('import LeaderElectionModule.forFeature(name), not the class itself');
const WHERE = 'LeaderElectionModule.forFeature()';

/** Starts the elections of an application, calls the methods under `@OnElected` and `@OnRevoked`, and resigns at shutdown. */
@onePerProcess('LeaderElections')
@Injectable()
export class LeaderElections implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly shutdownTimeouts = new Map<LeaderElection, number>();
  /** Of the elections with a session of their own. */
  private readonly admins = new Map<LeaderElection, LockAdmin>();

  constructor(
    private readonly modules: ModulesContainer,
    private readonly lifecycle: LockLifecycle,
  ) {}

  open(
    name: string,
    { instance, key = `leader:${name}`, watchdogTimeout, label }: LeaderElectionOptions,
    service: LockService,
    given: DistributedLockOptions,
  ): LeaderElection {
    const options = resolveModuleOptions({
      ...given,
      ...(watchdogTimeout !== undefined && { watchdogTimeout }),
      onUnavailable: 'throw',
      warnHeldAfter: false,
    });
    const logger = new Logger('LeaderElection');
    let locks = service;
    let admin: LockAdmin | undefined;
    // Locks of this process only would elect a leader in each process.
    if (watchdogTimeout !== undefined || given.onUnavailable === 'local') {
      const engine = new LockEngine(
        options.store,
        { ...options, instance: `${instance ?? ''} leader ${name}`.trim() },
        logger,
      );
      this.lifecycle.add(engine);
      locks = new LockService(engine, options.waitTime);
      admin = new LockAdmin(engine);
    }
    const election = new LeaderElection(name, checkKey(WHERE, key), locks, logger, label);
    if (admin !== undefined) this.admins.set(election, admin);
    this.shutdownTimeouts.set(election, options.shutdownTimeout);
    return election;
  }

  /** The `LockAdmin` of the session of an election; undefined if that is the module's. */
  adminOf(election: LeaderElection): LockAdmin | undefined {
    return this.admins.get(election);
  }

  onApplicationBootstrap(): void {
    this.bindMethods();
    for (const election of this.shutdownTimeouts.keys()) election.start();
  }

  /** Waits for the work of leaders. Nest calls this hook before it ends the locks, so that the work can use them to its end. */
  async onModuleDestroy(): Promise<void> {
    await Promise.all(
      [...this.shutdownTimeouts].map(async ([election, shutdownTimeout]) => {
        let timer: NodeJS.Timeout | undefined;
        const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, shutdownTimeout)));
        // Work that does not end keeps the lock until its lease ends.
        await Promise.race([election.stop(), late]);
        clearTimeout(timer);
      }),
    );
  }

  private bindMethods(): void {
    const bound = new Set<object>();
    for (const { providers, controllers } of this.modules.values()) {
      for (const { instance } of [...providers.values(), ...controllers.values()]) {
        if (typeof instance !== 'object' || instance === null || bound.has(instance)) continue;
        bound.add(instance);
        this.bind(instance as Record<string | symbol, ElectionHandler>);
      }
    }
  }

  private bind(object: Record<string | symbol, ElectionHandler>): void {
    for (const { election: name, event, method } of electionMethodsOf(object)) {
      const election = this.electionOf(name);
      if (election === undefined) {
        const where = `${object.constructor.name}.${String(method)}`;
        const decorator = event === 'elected' ? '@OnElected' : '@OnRevoked';
        throw new LockOptionsError(
          `${decorator}('${name}') on ${where}: there is no such election. Import LeaderElectionModule.forFeature('${name}').`,
        );
      }
      const call: ElectionHandler = (argument) => object[method]?.(argument);
      election.handle(event, call);
    }
  }

  /** A test may have overridden the provider. */
  private electionOf(name: string): LeaderElection | undefined {
    const token = getLeaderElectionToken(name);
    for (const { providers } of this.modules.values()) {
      const instance: unknown = providers.get(token)?.instance;
      if (instance instanceof LeaderElection) return instance;
    }
    return undefined;
  }
}

@onePerProcess('LeaderElectionCoreModule')
@Global()
@Module({
  imports: [LockLifecycleModule],
  providers: [LeaderElections, { provide: ELECTIONS, useExisting: LeaderElections }],
  exports: [LeaderElections, ELECTIONS],
})
class LeaderElectionCoreModule {}

/** Provides a `LeaderElection` for each name. Needs `DistributedLockModule` in the application. */
@onePerProcess('LeaderElectionModule')
@Module({})
export class LeaderElectionModule {
  constructor(@Inject(OPTIONS) _options: unknown) {
    // Without them Nest's error says what to write.
  }

  /**
   * Takes part in an election, from the end of the application's bootstrap to its shutdown. Inject it with
   * `@InjectLeaderElection(name)`.
   *
   * @throws LockOptionsError for an invalid name or option
   */
  static forFeature(name: string, options: LeaderElectionOptions = {}): DynamicModule {
    const useValue = checkOptionsOf(name)(WHERE, options);
    return withElection(name, options.instance, { providers: [{ provide: OPTIONS, useValue }] });
  }

  /** Takes the options from a factory, a class (method `create`) or an existing provider; `instance` goes next to it. */
  static forFeatureAsync(name: string, options: LeaderElectionAsyncOptions): DynamicModule {
    const where = 'LeaderElectionModule.forFeatureAsync()';
    const provided = asyncOptions(where, options, OPTIONS, checkOptionsOf(name), 'instance');
    return withElection(name, options.instance, provided);
  }
}

/** @param name of the election */
function checkOptionsOf(name: string) {
  return (where: string, options: LeaderElectionFactoryOptions): LeaderElectionFactoryOptions => {
    checkOptions(where, options, {}, ['instance', 'key', 'watchdogTimeout', 'label']);
    const { watchdogTimeout, label = `leader of ${name}` } = options;
    resolveLockOptions(where, { label }, Infinity);
    if (watchdogTimeout !== undefined) checkTime(where, 'watchdogTimeout', watchdogTimeout, { min: 300 });
    return options;
  };
}

function withElection(
  name: string,
  instance: string | undefined,
  { imports = [], providers = [] }: Pick<DynamicModule, 'imports' | 'providers'>,
): DynamicModule {
  const election = {
    provide: getLeaderElectionToken(name),
    useFactory: (
      elections: LeaderElections,
      options: LeaderElectionOptions,
      service: LockService,
      given: DistributedLockOptions,
    ): LeaderElection => elections.open(name, { ...options, instance }, service, given),
    inject: [LeaderElections, OPTIONS, getLockServiceToken(instance), getLockOptionsToken(instance)],
  };
  // Dashboard and metrics find every `LockAdmin` among the providers.
  const admin = {
    provide: getLockAdminToken(`leader ${name}`),
    useFactory: (elections: LeaderElections, opened: LeaderElection, ofModule: LockAdmin): LockAdmin =>
      elections.adminOf(opened) ?? ofModule,
    inject: [LeaderElections, election.provide, getLockAdminToken(instance)],
  };
  return {
    module: LeaderElectionModule,
    imports: [...imports, LeaderElectionCoreModule],
    providers: [...providers, election, admin],
    exports: [election, admin],
  };
}
