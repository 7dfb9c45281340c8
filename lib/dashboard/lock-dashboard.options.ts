import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';
import { LockOptionsError } from '../model/lock.errors.js';
import { check, checkNames, checkObject, shown } from '../model/option-checks.js';

/** Either `guards` or `access` has to be there. */
export interface LockDashboardOptions {
  /**
   * Where the page is, below the global prefix of the application.
   *
   * @default 'locks'
   */
  readonly path?: string | undefined;
  /** Guards of the page: it shows keys, labels, hosts and process ids. All of them have to let a request pass. */
  readonly guards?: readonly (Type<CanActivate> | CanActivate)[] | undefined;
  /** `'open'`: whoever reaches the application may see the page, or something in front of it keeps others out. */
  readonly access?: 'open' | undefined;
  /**
   * The hosts under which browsers open the page, such as `'ops.example.com'` or `'localhost:3000'`; without a port, any port
   * is right. Requests for another host are refused: a site can give its own name the address of this application (DNS
   * rebinding), and would then be the same site for a browser inside your network. Needed for `access: 'open'` with
   * `allowBreak`, and wise with guards that look only at the client's address. Behind a proxy, the hosts that the proxy
   * passes on.
   *
   * @default any host
   */
  readonly hosts?: readonly string[] | undefined;
  /**
   * Whether whoever may see the page may break locks there, too. With `access: 'open'` give `hosts` as well.
   *
   * @default false
   */
  readonly allowBreak?: boolean | undefined;
  /**
   * Who makes a request, for the log and the `broken` event, of 1 to 200 characters.
   *
   * @default what guards have left as `user` of the request: its `username`, `name`, `email`, `sub` or `id`; and the
   * address that the request comes from
   */
  readonly user?: ((request: unknown) => string | undefined) | undefined;
  /** Modules that export what the guards need. */
  readonly imports?: ModuleMetadata['imports'];
}

const KNOWN: ReadonlySet<string> = new Set<keyof LockDashboardOptions>([
  'path',
  'guards',
  'access',
  'hosts',
  'allowBreak',
  'user',
  'imports',
]);
const WHERE = 'LockDashboardModule.forRoot()';
const HOW =
  "Write forRoot({ guards: [OpsGuard] }) with guards of yours that let operators pass, or forRoot({ access: 'open' }) if " +
  'whoever reaches the application may see it.';

/** @throws LockOptionsError for options that can't work */
export function resolveDashboardOptions(options: LockDashboardOptions | undefined): ResolvedDashboardOptions {
  if (options === undefined) throw unguarded();
  checkNames(WHERE, checkObject(WHERE, options), KNOWN);
  // Whatever the compiler thinks of it.
  const given: { readonly [Name in keyof LockDashboardOptions]: unknown } = options;
  const { path = 'locks', guards = [], imports = [], user } = options;
  const { access, allowBreak = false, hosts } = given;
  check(typeof path === 'string', WHERE, 'path must be a string such as "/locks"', path);
  check(Array.isArray(guards), WHERE, 'guards must be an array of guards, such as [OpsGuard]', guards);
  check(guards.every(isGuard), WHERE, 'guards must be classes or objects with a canActivate method', guards);
  if (access !== undefined && access !== 'open') {
    throw new LockOptionsError(`${WHERE}: access must be 'open' or left out; got ${shown(access)}. ${HOW}`);
  }
  if (guards.length === 0 && access === undefined) throw unguarded();
  check(
    guards.length === 0 || access === undefined,
    WHERE,
    "access: 'open' is for a page without guards; leave out one of both",
    access,
  );
  check(typeof allowBreak === 'boolean', WHERE, 'allowBreak must be true or false', allowBreak);
  check(
    hosts === undefined || (Array.isArray(hosts) && hosts.length > 0 && hosts.every(isHost)),
    WHERE,
    "hosts must be an array of host names without scheme and path, such as ['ops.example.com', 'localhost:3000']",
    hosts,
  );
  if (access === 'open' && allowBreak && hosts === undefined) {
    throw new LockOptionsError(
      `${WHERE}: allowBreak with access: 'open' needs hosts: otherwise any site that a browser inside your network visits could ` +
        "break locks (DNS rebinding). Name the hosts under which the page is opened, such as hosts: ['ops.example.com'], or use guards.",
    );
  }
  check(user === undefined || typeof user === 'function', WHERE, 'user must be a function', user);
  return { path, guards, hosts: options.hosts?.map((host) => host.toLowerCase()), allowBreak, user, imports };
}

export interface ResolvedDashboardOptions {
  readonly path: string;
  readonly guards: readonly (Type<CanActivate> | CanActivate)[];
  /** In lower case; undefined for any. */
  readonly hosts: readonly string[] | undefined;
  readonly allowBreak: boolean;
  readonly user: ((request: unknown) => string | undefined) | undefined;
  readonly imports: NonNullable<ModuleMetadata['imports']>;
}

function unguarded(): LockOptionsError {
  return new LockOptionsError(
    `${WHERE}: nobody has said who may see the page, which shows keys, labels and hosts. ${HOW}`,
  );
}

function isHost(host: unknown): boolean {
  return typeof host === 'string' && /^([\w.-]+|\[[\da-f:.]+\])(:\d+)?$/i.test(host);
}

function isGuard(guard: unknown): boolean {
  if (typeof guard === 'function') return true;
  return typeof (guard as Partial<CanActivate> | null | undefined)?.canActivate === 'function';
}
