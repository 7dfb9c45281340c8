import type { LoggerService } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import type { Subscription } from 'rxjs';
import {
  DistributedLockModule,
  LockAdmin,
  LockService,
  type DistributedLockOptions,
  type LockEvent,
} from '../../lib/index.js';
import { Endings } from './endings.js';
import { next } from './until.js';

/** Collects the log of an application, so that a test can count lines and its output stays clean. */
export class LogRecorder implements LoggerService {
  readonly lines: { readonly level: string; readonly message: string }[] = [];

  log(message: unknown): void {
    this.keep('log', message);
  }

  warn(message: unknown): void {
    this.keep('warn', message);
  }

  error(message: unknown): void {
    this.keep('error', message);
  }

  debug(message: unknown): void {
    this.keep('debug', message);
  }

  verbose(message: unknown): void {
    this.keep('verbose', message);
  }

  /** Lines that contain `text`. */
  matching(text: string | RegExp): readonly string[] {
    const fits = (message: string): boolean =>
      typeof text === 'string' ? message.includes(text) : text.test(message);
    return this.lines.filter(({ message }) => fits(message)).map(({ message }) => message);
  }

  private keep(level: string, message: unknown): void {
    this.lines.push({ level, message: String(message) });
  }
}

/** A Nest application with the module as a user would set it up, representing one process. */
export class LockApp {
  readonly seen: LockEvent[] = [];
  private readonly subscription: Subscription;
  private closing: Promise<void> | undefined;

  private constructor(
    readonly module: TestingModule,
    readonly locks: LockService,
    readonly admin: LockAdmin,
    readonly log: LogRecorder,
  ) {
    this.subscription = locks.events.subscribe((event) => this.seen.push(event));
  }

  static async start(options: DistributedLockOptions): Promise<LockApp> {
    const log = new LogRecorder();
    const module = await Test.createTestingModule({ imports: [DistributedLockModule.forRoot(options)] })
      .setLogger(log)
      .compile();
    await module.init();
    return new LockApp(module, module.get(LockService), module.get(LockAdmin), log);
  }

  /** Events of one type in order, for one key if given. */
  events<T extends LockEvent['type']>(type: T, key?: string): Extract<LockEvent, { type: T }>[] {
    const fits = (event: LockEvent): event is Extract<LockEvent, { type: T }> =>
      event.type === type && (key === undefined || event.key === key);
    return this.seen.filter(fits);
  }

  close(): Promise<void> {
    this.closing ??= this.module.close().finally(() => this.subscription.unsubscribe());
    return this.closing;
  }
}

/** Returns a function that starts applications with these options; they are closed after each test. */
export function lockApps(
  defaults: Partial<DistributedLockOptions> = {},
): (options?: Partial<DistributedLockOptions>) => Promise<LockApp> {
  const endings = new Endings();
  return async (options = {}) =>
    endings.app(await LockApp.start({ ...defaults, ...options } as DistributedLockOptions));
}

/** Resolves when a call for `key` is queued in that application, or immediately if one was queued before. */
export async function queuedIn(app: LockApp, key: string): Promise<void> {
  if (app.events('queued', key).length > 0) return;
  await next(app.locks.events, (event) => event.type === 'queued' && event.key === key);
}
