import {
  BadRequestException,
  Body,
  Controller,
  ForbiddenException,
  Get,
  Headers,
  HttpCode,
  HttpException,
  HttpStatus,
  Inject,
  NotFoundException,
  Post,
  Query,
  Req,
  Res,
  ServiceUnavailableException,
  UseGuards,
  type Type,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { checkKey } from '../model/lock-key.js';
import { LockOptionsError, LockUnavailableError } from '../model/lock.errors.js';
import type { LockService } from '../api/lock.service.js';
import type { LockListOptions } from '../model/lock-info.js';
import { Dashboard } from './dashboard.js';
import { LockBreaker } from './lock-breaker.js';
import type { ResolvedDashboardOptions } from './lock-dashboard.options.js';
import { pageFile, SECURITY_HEADERS } from './page-files.js';
import { requesterOf } from './requester.js';
import { checkHost, checkSameOrigin, type Headers as RequestHeaders } from './same-origin.js';
import { SharedCalls } from './shared-calls.js';
import { shownLock } from './shown-lock.js';
import type { BreakRequest, ShownList, ShownLock } from './wire.js';

export const DASHBOARD_OPTIONS = Symbol('options of LockDashboardModule');

/** How many things of the store one answer looks at. */
const LIST_COUNT = 1_000;
/** How many locks are looked at or broken at once, for all who ask. */
const CALLS_AT_ONCE = 8;
/** s */
const RETRY_AFTER = '1';
const FOREVER = 'private, max-age=31536000, immutable';

type RequestQuery = Readonly<Record<string, unknown>>;

/** All of the page is at one path; what is wanted is said by the query. */
class LockDashboardController {
  private readonly breaker: LockBreaker;
  private readonly lists = new SharedCalls<ShownList>(1);
  private readonly looks = new SharedCalls<ShownLock | null>(CALLS_AT_ONCE);
  private readonly breaks = new SharedCalls<void>(CALLS_AT_ONCE);

  constructor(
    @Inject(Dashboard) private readonly dashboard: Dashboard,
    @Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {
    this.breaker = new LockBreaker((instance) => dashboard.snapshotsOf(instance));
  }

  /** Answers by itself, so that interceptors of the application don't put it into something else. */
  @Get()
  async show(@Query() query: object, @Headers() headers: object, @Res() response: unknown): Promise<void> {
    checkHost(headers as RequestHeaders, this.options.hosts);
    const { file = '', data } = query as RequestQuery;
    if (data !== undefined) {
      this.send(
        response,
        JSON.stringify(await this.dataOf(data, query as RequestQuery, response)),
        JSON_TYPE,
        'no-store',
      );
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
        'Locks are not broken here. LockDashboardModule.forRoot({ allowBreak: true }) allows it.',
      );
    }
    const wanted = breakRequestOf(body);
    const by = requesterOf(request, this.options.user);
    const locks = this.locksOf(wanted.instance);
    await this.inTurn(
      response,
      this.breaks.call([wanted, by], () => this.breaker.break(locks, wanted, by)),
    );
    this.send(response, JSON.stringify({ broken: true }), JSON_TYPE, 'no-store');
  }

  private async dataOf(data: unknown, query: RequestQuery, response: unknown): Promise<unknown> {
    switch (data) {
      case 'overview':
        return await this.dashboard.overview();
      case 'lock':
        return await this.inTurn(response, this.lock(query));
      case 'list':
        return await this.inTurn(response, this.list(query));
      default:
        throw new NotFoundException('The page has no such data.');
    }
  }

  /** @param answer undefined if too much is going on */
  private inTurn<T>(response: unknown, answer: Promise<T> | undefined): Promise<T> {
    if (answer !== undefined) return answer;
    this.host.httpAdapter.setHeader(response, 'Retry-After', RETRY_AFTER);
    throw new HttpException(
      'The store is being asked for others, one after the other. Try again in a moment.',
      HttpStatus.TOO_MANY_REQUESTS,
    );
  }

  /** `null` when it is free. */
  private lock(query: RequestQuery): Promise<ShownLock | null> | undefined {
    const instance = instanceOf(query);
    const locks = this.locksOf(instance);
    const key = keyOf(query['key']);
    return this.looks.call([instance, key], async () => {
      const lock = await locks.inspect(key);
      return lock === null ? null : shownLock(lock, instance);
    });
  }

  private list(query: RequestQuery): Promise<ShownList> | undefined {
    const instance = instanceOf(query);
    const locks = this.locksOf(instance);
    // Anything but one string, such as an array, is refused as an option that can't work.
    const { match, cursor } = query as { readonly match?: string; readonly cursor?: string };
    const options = { match: match === '' ? undefined : match, cursor, count: LIST_COUNT };
    return this.lists.call([instance, match, cursor], () => this.shownList(locks, instance, options));
  }

  private async shownList(
    locks: LockService,
    instance: string | null,
    options: LockListOptions,
  ): Promise<ShownList> {
    try {
      const listed = await locks.list(options);
      return {
        locks: listed.locks.map((lock) => shownLock(lock, instance)),
        at: Date.now(),
        cursor: listed.cursor ?? null,
      };
    } catch (error) {
      // What it says is for whoever looks, and has no key.
      if (error instanceof LockOptionsError) throw new BadRequestException(error.message);
      if (error instanceof LockUnavailableError && error.keys.length === 0) {
        throw new ServiceUnavailableException(error.message);
      }
      throw error;
    }
  }

  private locksOf(instance: string | null): LockService {
    const locks = this.dashboard.locksOf(instance);
    if (locks === undefined) throw new NotFoundException('There is no such instance of the module here.');
    return locks;
  }

  private send(response: unknown, text: string, type: string, cacheControl: string): void {
    const { httpAdapter } = this.host;
    const headers = { ...SECURITY_HEADERS, 'Content-Type': type, 'Cache-Control': cacheControl };
    for (const [name, value] of Object.entries(headers)) httpAdapter.setHeader(response, name, value);
    httpAdapter.reply(response, text, 200);
  }
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** The controller of one page: at its path, behind its guards. */
export function controllerAt({ path, guards }: ResolvedDashboardOptions): Type {
  class LockDashboardPage extends LockDashboardController {}
  Controller(path)(LockDashboardPage);
  if (guards.length > 0) UseGuards(...guards)(LockDashboardPage);
  return LockDashboardPage;
}

/** Keys come from whoever asks. */
function keyOf(key: unknown): string {
  try {
    return checkKey('the page', key);
  } catch {
    throw new BadRequestException('That is no key of a lock.');
  }
}

function instanceOf({ instance }: RequestQuery): string | null {
  return typeof instance === 'string' && instance !== '' ? instance : null;
}

function breakRequestOf(body: unknown): BreakRequest {
  const { key, instance, token } = (body ?? {}) as Partial<Record<keyof BreakRequest, unknown>>;
  if (token !== null && !Number.isSafeInteger(token)) {
    throw new BadRequestException('Say which hold is to be broken: { key, instance, token }.');
  }
  return {
    key: keyOf(key),
    instance: typeof instance === 'string' ? instance : null,
    token: token as number | null,
  };
}
