import {
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  ForbiddenException,
  Get,
  Headers,
  HttpCode,
  HttpException,
  HttpStatus,
  Inject,
  Injectable,
  NotFoundException,
  NotImplementedException,
  Post,
  Query,
  Req,
  Res,
  ServiceUnavailableException,
  UnsupportedMediaTypeException,
  SetMetadata,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { isObservable, lastValueFrom } from 'rxjs';
import type { LockAdmin } from '../api/lock-admin.js';
import type { LockListOptions } from '../model/lock-info.js';
import { checkKey } from '../model/lock-key.js';
import { LockOptionsError, LockUnavailableError, LockUnsupportedError } from '../model/lock.errors.js';
import { Dashboard } from './dashboard.js';
import type { ResolvedDashboardOptions } from './lock-dashboard.options.js';
import { pageFile, SECURITY_HEADERS } from './page-files.js';
import type { ProcessReport } from './process-report.js';
import { toJson } from './to-wire.js';
import type { BreakRequest } from './wire.js';

export const DASHBOARD_OPTIONS = Symbol('import LockDashboardModule.forRoot(…), not the class itself');

/** How many entries of the store a listing scans per request. */
const LIST_COUNT = 1_000;
/** s */
const RETRY_AFTER = '1';
const FOREVER = 'private, max-age=31536000, immutable';
const JSON_TYPE = 'application/json; charset=utf-8';
const LONGEST_REQUESTER = 200;
/** Properties of the request's `user` that name a person. */
const USER_NAMES = ['username', 'name', 'email', 'sub', 'id'] as const;

type RequestQuery = Readonly<Record<string, unknown>>;
/** Header names are in lower case, as in Node. */
type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Serves everything at one path, by the query. */
class LockDashboardController {
  constructor(
    @Inject(Dashboard) private readonly dashboard: Dashboard,
    @Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {}

  /** Sends the response itself, so that interceptors of the application do not wrap it. */
  @Get()
  async show(@Query() query: object, @Headers() headers: object, @Res() response: unknown): Promise<void> {
    checkHost(headers as RequestHeaders, this.options.hosts);
    const { file = '', data } = query as RequestQuery;
    if (data !== undefined) {
      this.sendJson(response, await this.dataOf(data, query as RequestQuery, response));
      return;
    }
    const found = typeof file === 'string' ? pageFile(file) : undefined;
    if (found === undefined) throw new NotFoundException('The page has no such file.');
    this.send(response, found.text, found.type, found.isImmutable ? FOREVER : 'no-store');
  }

  @Post()
  @HttpCode(200)
  async break(
    @Body() body: unknown,
    @Headers() headers: object,
    @Req() request: unknown,
    @Res() response: unknown,
  ): Promise<void> {
    checkHost(headers as RequestHeaders, this.options.hosts);
    checkSameOrigin(headers as RequestHeaders);
    if (!this.options.allowBreak) {
      throw new ForbiddenException(
        'Breaking locks is disabled. LockDashboardModule.forRoot({ allowBreak: true }) enables it.',
      );
    }
    const wanted = breakRequestOf(body);
    const by = requesterOf(request, this.options.user);
    const report = this.reportOf(wanted.instance);
    const outcome = await this.orTooMany(
      response,
      this.dashboard.breaks.call([wanted, by], () => report.breakHold(wanted, by)),
    );
    if (outcome === 'free') throw new ConflictException('The lock is free already.');
    if (outcome === 'held-by-others') {
      throw new ConflictException('The lock has another holder now. Check it again before you break it.');
    }
    this.sendJson(response, { broken: true });
  }

  private async dataOf(data: unknown, query: RequestQuery, response: unknown): Promise<unknown> {
    switch (data) {
      case 'overview':
        return await this.dashboard.overview();
      case 'lock':
        return await this.orTooMany(response, this.lock(query));
      case 'list':
        return await this.orTooMany(response, this.list(query));
      default:
        throw new NotFoundException('The page has no such data.');
    }
  }

  /** @param answer undefined if too many calls are running */
  private orTooMany<T>(response: unknown, answer: Promise<T> | undefined): Promise<T> {
    if (answer !== undefined) return answer;
    this.host.httpAdapter.setHeader(response, 'Retry-After', RETRY_AFTER);
    throw new HttpException(
      'Too many requests of other visitors are running. Try again in a moment.',
      HttpStatus.TOO_MANY_REQUESTS,
    );
  }

  /** `null` for a free lock. */
  private lock(query: RequestQuery): Promise<object | null> | undefined {
    const instance = instanceOf(query);
    const { admin } = this.reportOf(instance);
    const key = keyOf(query['key']);
    return this.dashboard.inspections.call([instance, key], async () => {
      const lock = await admin.inspect(key);
      return lock && { ...lock, instance };
    });
  }

  private list(query: RequestQuery): Promise<object> | undefined {
    const instance = instanceOf(query);
    const { admin } = this.reportOf(instance);
    // `list` rejects values other than strings, such as arrays.
    const { match, cursor } = query as { readonly match?: string; readonly cursor?: string };
    const options = { match: match === '' ? undefined : match, cursor, count: LIST_COUNT };
    return this.dashboard.lists.call([instance, match, cursor], () => listOf(admin, instance, options));
  }

  private reportOf(instance: string | null): ProcessReport {
    const report = this.dashboard.reportOf(instance);
    if (report === undefined) throw new NotFoundException('There is no such instance of the module here.');
    return report;
  }

  private sendJson(response: unknown, data: unknown): void {
    this.send(response, toJson(data), JSON_TYPE, 'no-store');
  }

  private send(response: unknown, text: string, type: string, cacheControl: string): void {
    const { httpAdapter } = this.host;
    const headers = { ...SECURITY_HEADERS, 'Content-Type': type, 'Cache-Control': cacheControl };
    for (const [name, value] of Object.entries(headers)) httpAdapter.setHeader(response, name, value);
    httpAdapter.reply(response, text, 200);
  }
}

/** The controller class of one dashboard. Its path may be set until Nest reads it, after it has created providers. */
export function controllerOf({ path, guards }: Pick<ResolvedDashboardOptions, 'path' | 'guards'>): Type {
  class LockDashboardPage extends LockDashboardController {}
  Controller(path)(LockDashboardPage);
  UseGuards(...guards)(LockDashboardPage);
  // `@ApiExcludeController()` of `@nestjs/swagger`, which is optional.
  SetMetadata('swagger/apiExcludeController', [true])(LockDashboardPage);
  return LockDashboardPage;
}

/** Runs the guards that a factory returns, since Nest collects those of the controller earlier. */
@Injectable()
export class FactoryGuards implements CanActivate {
  constructor(@Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    for (const guard of this.options.guards as readonly CanActivate[]) {
      const passes = guard.canActivate(context);
      if (!(isObservable(passes) ? await lastValueFrom(passes) : await passes)) return false;
    }
    return true;
  }
}

async function listOf(admin: LockAdmin, instance: string | null, options: LockListOptions): Promise<object> {
  try {
    const { locks, cursor } = await admin.list(options);
    return { locks: locks.map((lock) => ({ ...lock, instance })), at: Date.now(), cursor };
  } catch (error) {
    // These messages help the visitor and contain no keys.
    if (error instanceof LockOptionsError) throw new BadRequestException(error.message);
    if (error instanceof LockUnsupportedError) throw new NotImplementedException(error.message);
    if (error instanceof LockUnavailableError && error.keys.length === 0) {
      throw new ServiceUnavailableException(error.message);
    }
    throw error;
  }
}

/**
 * Rejects cross-site requests. Browsers send `Sec-Fetch-Site`, except to pages without TLS; to those they still send
 * `Origin`. A request without both does not come from the dashboard.
 */
function checkSameOrigin(headers: RequestHeaders): void {
  const site = headers['sec-fetch-site'];
  const isOwn = site === undefined ? hostOf(headers['origin']) === headers['host'] : site === 'same-origin';
  if (!isOwn)
    throw new ForbiddenException('Locks can be broken only from the dashboard, not from another site.');
  const type = headers['content-type'];
  if (typeof type !== 'string' || !/^application\/json\b/i.test(type)) {
    throw new UnsupportedMediaTypeException('The request body must be JSON.');
  }
}

/** `null`, which equals no `Host` header, for a missing or opaque origin. */
function hostOf(origin: RequestHeaders[string]): string | null {
  if (typeof origin !== 'string') return null;
  try {
    return new URL(origin).host;
  } catch {
    return null;
  }
}

/** Rejects other hosts than the configured ones, against DNS rebinding: see `hosts` of the options. */
function checkHost(headers: RequestHeaders, hosts: readonly string[] | undefined): void {
  if (hosts === undefined) return;
  const given = headers['host'] ?? headers[':authority'];
  const host = typeof given === 'string' ? given.toLowerCase() : '';
  if (hosts.includes(host) || hosts.includes(host.replace(/:\d+$/, ''))) return;
  throw new ForbiddenException(
    `The page is not served as ${JSON.stringify(host)}. Add the host to hosts of LockDashboardModule.forRoot() if it is right.`,
  );
}

/** The person behind a request, as known to the application or its guards, and the client's address. */
function requesterOf(request: unknown, user: ResolvedDashboardOptions['user']): string {
  const { ip, user: fromGuards } = request as { readonly ip?: unknown; readonly user?: unknown };
  const address = typeof ip === 'string' ? ip : 'an unknown address';
  const name = user === undefined ? nameOf(fromGuards) : user(request);
  const requester = name === undefined || name === '' ? address : `${name} (${address})`;
  return requester.slice(0, LONGEST_REQUESTER);
}

function nameOf(user: unknown): string | undefined {
  if (typeof user === 'string') return user;
  if (typeof user !== 'object' || user === null) return undefined;
  const facts = user as Partial<Record<(typeof USER_NAMES)[number], unknown>>;
  const name = USER_NAMES.map((property) => facts[property]).find(
    (value) => typeof value === 'string' || typeof value === 'number',
  );
  return name === undefined ? undefined : String(name);
}

function keyOf(key: unknown): string {
  try {
    return checkKey('the page', key);
  } catch {
    throw new BadRequestException('The key of a lock is required.');
  }
}

function instanceOf({ instance }: RequestQuery): string | null {
  return typeof instance === 'string' && instance !== '' ? instance : null;
}

function breakRequestOf(body: unknown): BreakRequest {
  const { key, instance, token } = (body ?? {}) as Partial<Record<keyof BreakRequest, unknown>>;
  if (token !== null && !Number.isSafeInteger(token)) {
    throw new BadRequestException('Name the hold to break: { key, instance, token }.');
  }
  return {
    key: keyOf(key),
    instance: typeof instance === 'string' ? instance : null,
    token: token as number | null,
  };
}
