import type { CanActivate, ConfigurableModuleAsyncOptions, ModuleMetadata, Type } from '@nestjs/common';
import { LockOptionsError } from '../model/lock.errors.js';
import {
  check,
  checkObject,
  checkOptions,
  flag,
  option,
  shown,
  type Checked,
  type FactoryOptions,
} from '../model/option-checks.js';

/** Options of `LockDashboardModule.forRoot`. Either `guards` or `access` is required, except with `page: false`. */
export interface LockDashboardOptions {
  /**
   * Whether this process serves the page. The pages of other processes show its locks in either case. Set `false` in
   * processes that have no HTTP or are unreachable for browsers.
   *
   * @default true
   */
  readonly page?: boolean | undefined;
  /**
   * The path of the page, below the global prefix of the application.
   *
   * @default 'locks'
   */
  readonly path?: string | undefined;
  /** Guards of the page, which shows keys, labels, hosts and process ids. A request must pass all of them. */
  readonly guards?: readonly (Type<CanActivate> | CanActivate)[] | undefined;
  /** `'open'`: everyone who can reach the application may see the page, or something in front of it restricts access. */
  readonly access?: 'open' | undefined;
  /**
   * The hosts under which browsers open the page, such as `'ops.example.com'` or `'localhost:3000'`; without a port,
   * any port matches. Requests for other hosts are rejected. This prevents DNS rebinding: another site can resolve its
   * own name to the address of this application, and is then the same origin for a browser inside your network.
   * Required for `access: 'open'` with `allowBreak`, and advisable with guards that check only the client's address.
   * Behind a proxy, list the hosts that the proxy passes on.
   *
   * @default any host
   */
  readonly hosts?: readonly string[] | undefined;
  /**
   * Whether everyone who may see the page may also break locks. With `access: 'open'`, `hosts` is also required.
   *
   * @default false
   */
  readonly allowBreak?: boolean | undefined;
  /**
   * Names the person behind a request, for the log and the `broken` event, in 1 to 200 characters.
   *
   * @default the `username`, `name`, `email`, `sub` or `id` of the `user` that guards have set on the request, and the
   * address of the client
   */
  readonly user?: ((request: unknown) => string | undefined) | undefined;
  /** Modules that export the dependencies of the guards. */
  readonly imports?: ModuleMetadata['imports'];
}

/** Options that a factory may return: guards are objects there, since Nest creates guard classes earlier. */
export type LockDashboardFactoryOptions = Omit<LockDashboardOptions, 'page' | 'imports' | 'guards'> & {
  /** Guards of the page, injected into the factory. A request must pass all of them. */
  readonly guards?: readonly CanActivate[] | undefined;
};

/**
 * Options of `LockDashboardModule.forRootAsync`. `page` and guard classes can't come from a factory: import
 * `forRoot({ page: false })` where there is no page, and inject a guard into the factory to return it.
 */
export type LockDashboardAsyncOptions = ConfigurableModuleAsyncOptions<
  FactoryOptions<LockDashboardFactoryOptions, 'imports'>
>;

type Guard = Type<CanActivate> | CanActivate;

const WHERE = 'LockDashboardModule.forRoot()';
const HOW =
  "Write forRoot({ guards: [OpsGuard] }) with your own guards for operators, or forRoot({ access: 'open' }) if " +
  'everyone who can reach the application may see it.';

const CHECKS = {
  page: flag(true),
  path: option('a string such as "/locks"', (value) => typeof value === 'string', 'locks'),
  guards: checkGuards,
  access: (where: string, _name: string, value: unknown): 'open' | undefined => {
    if (value === undefined || value === 'open') return value;
    throw new LockOptionsError(`${where}: access must be 'open' or left out; got ${shown(value)}. ${HOW}`);
  },
  hosts: option(
    "an array of host names without scheme and path, such as ['ops.example.com', 'localhost:3000']",
    areHosts,
  ),
  allowBreak: flag(false),
  user: option('a function', isUserFunction),
};

/** @throws LockOptionsError for invalid options */
export function resolveDashboardOptions(options: LockDashboardOptions | undefined): ResolvedDashboardOptions {
  if (options === undefined) throw unguarded();
  const { access, ...checked } = checkOptions(WHERE, options, CHECKS, ['imports']);
  const { page, guards, allowBreak, hosts } = checked;
  if (page && guards.length === 0 && access === undefined) throw unguarded();
  const isOne = guards.length === 0 || access === undefined;
  check(isOne, WHERE, "access: 'open' is for a page without guards; leave out one of them", access);
  if (access === 'open' && allowBreak && hosts === undefined) {
    throw new LockOptionsError(
      `${WHERE}: allowBreak with access: 'open' needs hosts: otherwise any site that a browser inside your network visits could ` +
        "break locks (DNS rebinding). Name the hosts under which the page is opened, such as hosts: ['ops.example.com'], or use guards.",
    );
  }
  const { imports = [] } = options;
  return { ...checked, hosts: hosts?.map((host) => host.toLowerCase()), imports };
}

/** Hosts are in lower case. */
export type ResolvedDashboardOptions = Omit<Checked<typeof CHECKS>, 'access'> & {
  readonly imports: NonNullable<LockDashboardOptions['imports']>;
};

/** @throws LockOptionsError for invalid options */
export function resolveFactoryOptions(options: LockDashboardFactoryOptions): ResolvedDashboardOptions {
  const misplaced = ['page', 'imports'].find((name) => name in checkObject(WHERE, options));
  if (misplaced !== undefined) {
    throw new LockOptionsError(
      `${WHERE}: a factory can't return ${misplaced}. ` +
        (misplaced === 'page'
          ? 'Import forRoot({ page: false }) where there is no page.'
          : 'imports belongs next to useFactory (useClass, useExisting).'),
    );
  }
  const resolved = resolveDashboardOptions(options);
  if (resolved.guards.some((guard) => typeof guard === 'function')) {
    throw new LockOptionsError(
      `${WHERE}: a factory can't return the class of a guard. Inject the guard and return it: ` +
        'forRootAsync({ imports: [OpsModule], inject: [OpsGuard], useFactory: (guard) => ({ guards: [guard] }) }).',
    );
  }
  return resolved;
}

function unguarded(): LockOptionsError {
  return new LockOptionsError(
    `${WHERE}: set who may see the page, which shows keys, labels and hosts. ${HOW}`,
  );
}

function areHosts(hosts: unknown): hosts is readonly string[] {
  const isHost = (host: unknown): boolean =>
    typeof host === 'string' && /^([\w.-]+|\[[\da-f:.]+\])(:\d+)?$/i.test(host);
  return Array.isArray(hosts) && hosts.length > 0 && hosts.every(isHost);
}

function isUserFunction(user: unknown): user is NonNullable<LockDashboardOptions['user']> {
  return typeof user === 'function';
}

function checkGuards(where: string, name: string, guards: unknown = []): readonly Guard[] {
  check(Array.isArray(guards), where, `${name} must be an array of guards, such as [OpsGuard]`, guards);
  const rule = `${name} must be classes or objects with a canActivate method`;
  check(guards.every(isGuard), where, rule, guards);
  return guards as readonly Guard[];
}

function isGuard(guard: unknown): boolean {
  if (typeof guard === 'function') return true;
  return typeof (guard as Partial<CanActivate> | null | undefined)?.canActivate === 'function';
}
