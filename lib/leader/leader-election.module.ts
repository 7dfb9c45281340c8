import 'reflect-metadata';
import {
  Global,
  Inject,
  Injectable,
  Logger,
  Module,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { LockAdmin } from '../api/lock-admin.js';
import { checkSupportedBy, LockService } from '../api/lock.service.js';
import { LockEngine } from '../engine/lock-engine.js';
import { LockError, LockOptionsError } from '../model/lock.errors.js';
import { checkKey } from '../model/lock-key.js';
import { resolveLockOptions } from '../model/lock.options.js';
import { checkOptions, checkTime, shown, type FactoryOptions } from '../model/option-checks.js';
import { asyncOptions } from '../nest/module/async-options.js';
import {
  resolveModuleOptions,
  type DistributedLockOptions,
} from '../nest/module/distributed-lock.options.js';
import { LockLifecycle, LockLifecycleModule, type LockingWork } from '../nest/module/lock-lifecycle.js';
import {
  getLockAdminToken,
  getLockOptionsToken,
  getLockServiceToken,
  type AnyModule,
} from '../nest/module/lock-service.injection.js';
import { onePerProcess } from '../nest/module/one-per-process.js';
import { LeaderElection, type ElectionHandler } from './leader-election.js';
import { ELECTIONS, electionMethodsOf, getLeaderElectionToken, placeOf } from './leader.decorators.js';

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
  /**
   * How long methods under `@OnElected` and `@OnRevoked` may run after the leadership has ended, 0 … 2 147 483 647 ms. Then the
   * lock is released, and another process can lead while they still run.
   *
   * @default the `shutdownTimeout` of the module
   */
  readonly stopTimeout?: number | undefined;
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

/** The time for the request that releases the lock of a leader, ms. */
const RELEASE = 250;

/** An election of an application, and what its options say. */
interface Opened {
  readonly election: LeaderElection;
  readonly options: Readonly<Record<keyof LeaderElectionOptions, unknown>>;
  /** How long the shutdown waits for it, ms. */
  readonly patience: number;
  /** Of the session of the election; undefined if it is the module's. */
  readonly admin: LockAdmin | undefined;
}

/** Starts the elections of an application, calls the methods under `@OnElected` and `@OnRevoked`, and resigns at shutdown. */
@onePerProcess('LeaderElections')
@Injectable()
export class LeaderElections implements LockingWork {
  /** By name. */
  private readonly opened = new Map<string, Opened>();
  private readonly bound = new WeakSet();
  private hasStarted = false;
  private readonly logger = new Logger('LeaderElection');

  constructor(
    private readonly modules: ModulesContainer,
    private readonly lifecycle: LockLifecycle,
  ) {
    lifecycle.addWork(this);
  }

  /** @throws LockOptionsError if the election was opened with other options */
  open(
    name: string,
    { instance, key = `leader:${name}`, watchdogTimeout, label, stopTimeout }: LeaderElectionOptions,
    service: LockService,
    given: DistributedLockOptions,
  ): Opened {
    const { logger } = this;
    // A module that is loaded lazily; Nest has not created all of its objects yet.
    if (this.hasStarted) setImmediate(() => this.startLate(name));
    const own = { instance, key, watchdogTimeout, label: label ?? `leader of ${name}`, stopTimeout };
    const known = this.opened.get(name);
    if (known !== undefined) {
      refuseDifference(name, known.options, own);
      return known;
    }
    const options = resolveModuleOptions({
      ...given,
      ...(watchdogTimeout !== undefined && { watchdogTimeout }),
      onUnavailable: 'throw',
      warnHeldAfter: false,
    });
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
    checkSupportedBy(locks, resolveLockOptions(WHERE, { fair: true }, Infinity));
    const { shutdownTimeout } = options;
    const election = new LeaderElection(
      name,
      checkKey(WHERE, key),
      locks,
      logger,
      label,
      stopTimeout ?? shutdownTimeout,
    );
    // The lock is released after `stopTimeout`, which takes a moment.
    const patience = Math.min(stopTimeout ?? Infinity, shutdownTimeout) + RELEASE;
    const opened = { election, options: own, patience, admin };
    this.opened.set(name, opened);
    return opened;
  }

  /** The `LockAdmin` of the session of an election; undefined if that is the module's. */
  adminOf(election: LeaderElection): LockAdmin | undefined {
    return this.opened.get(election.name)?.admin;
  }

  start(): void {
    this.hasStarted = true;
    this.bindMethods();
    for (const { election } of this.opened.values()) election.start();
  }

  /** Waits for the work of leaders. */
  async stop(): Promise<void> {
    await Promise.all(
      [...this.opened.values()].map(async ({ election, patience }) => {
        let timer: NodeJS.Timeout | undefined;
        const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, patience)));
        // Work that does not end keeps the lock until its lease ends.
        await Promise.race([election.stop(), late]);
        clearTimeout(timer);
      }),
    );
  }

  /**
   * Nest has created an object of a class with such methods; those that it creates before the start are found there.
   *
   * @throws LockOptionsError if its methods can't be called, so that the load of its module fails
   */
  created(object: object): void {
    if (!this.hasStarted) return;
    const owners = [...this.objects()].filter(({ metatype }) => metatype === object.constructor);
    for (const owner of owners) refuseScope(owner);
    // Others were created by `ModuleRef.create`, and belong to no module.
    if (owners.some(({ instance }) => instance === object)) this.bind(object as ObjectWithMethods);
  }

  private startLate(name: string): void {
    try {
      this.bindMethods();
    } catch (error) {
      this.logger.error(error instanceof LockError ? error.message : error);
    }
    // Unless the load has failed.
    if (this.lifecycle.isRunning && this.willOpen(name)) this.opened.get(name)?.election.start();
  }

  private bindMethods(): void {
    for (const owner of this.objects()) {
      refuseScope(owner);
      const { instance } = owner;
      if (typeof instance === 'object' && instance !== null) this.bind(instance as ObjectWithMethods);
    }
  }

  private *objects(): Iterable<Owner> {
    for (const { providers, controllers, injectables } of this.modules.values()) {
      for (const each of [providers, controllers, injectables]) yield* each.values();
    }
  }

  private bind(object: ObjectWithMethods): void {
    if (this.bound.has(object)) return;
    const methods = electionMethodsOf(object);
    const found = methods.map((each) => {
      const { election: name } = each;
      const election = this.electionOf(name);
      if (election !== undefined || this.willOpen(name)) return election;
      throw new LockOptionsError(
        `${placeOf(each, object.constructor.name)}: there is no such election. Import LeaderElectionModule.forFeature('${name}').`,
      );
    });
    // An election of the same lazily loaded module, which binds the methods when it is open.
    if (found.includes(undefined)) return;
    this.bound.add(object);
    for (const [index, { event, method }] of methods.entries()) {
      const call: ElectionHandler = (argument) => object[method]?.(argument);
      found[index]?.handle(event, call, `${object.constructor.name}.${String(method)}`);
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

  private willOpen(name: string): boolean {
    const token = getLeaderElectionToken(name);
    return [...this.modules.values()].some(({ providers }) => providers.has(token));
  }
}

type ObjectWithMethods = Record<string | symbol, ElectionHandler>;
type Owner = AnyModule['providers'] extends Map<unknown, infer P> ? P : never;

/** Elections call methods of singletons. Nest creates other objects when it needs them, or without their dependencies. */
function refuseScope(owner: Owner): void {
  const { metatype, isNotMetatype, isTransient } = owner;
  if (isNotMetatype || typeof metatype !== 'function') return;
  const [method] = electionMethodsOf((metatype as { readonly prototype: object }).prototype);
  if (method === undefined || (!isTransient && owner.isDependencyTreeStatic())) return;
  const why = isTransient
    ? 'its class is a transient provider'
    : 'its class is request-scoped, or depends on a request-scoped provider';
  throw new LockOptionsError(
    `${placeOf(method, metatype.name)}: ${why}, so no object of the application can be called. Move the method to a provider of the default scope.`,
  );
}

/** @throws LockOptionsError that names what differs */
function refuseDifference(name: string, first: Opened['options'], second: Opened['options']): void {
  const names = Object.keys(first) as (keyof LeaderElectionOptions)[];
  const differences = names
    .filter((option) => first[option] !== second[option])
    .map((option) => `${option} is ${shown(first[option])} and ${shown(second[option])}`);
  if (differences.length === 0) return;
  throw new LockOptionsError(
    `LeaderElectionModule.forFeature('${name}') is imported several times with different options: ${differences.join(', ')}. ` +
      'It is one election of this process, so give all imports the same options.',
  );
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
    checkOptions(where, options, {}, ['instance', 'key', 'watchdogTimeout', 'label', 'stopTimeout']);
    const { watchdogTimeout, label = `leader of ${name}`, stopTimeout } = options;
    resolveLockOptions(where, { label }, Infinity);
    if (stopTimeout !== undefined) checkTime(where, 'stopTimeout', stopTimeout, { min: 0 });
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
    ): LeaderElection => elections.open(name, { ...options, instance }, service, given).election,
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
