import { afterEach } from '@jest/globals';
import type { AddressInfo, Server } from 'node:net';
import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { LockAdmin, LockService, type LockEvent } from '../../../lib/index.js';
import { LogRecorder } from '../../support/lock-app.js';

/** The HTTP adapters of Nest. */
export const ADAPTERS = {
  Express: (): AbstractHttpAdapter => new ExpressAdapter(),
  Fastify: (): AbstractHttpAdapter => new FastifyAdapter(),
};

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body, or the text if it is not JSON. */
  readonly body: unknown;
}

/** A Nest application with a recorded log, by default on Express, which listens on its own loopback port. */
export class HttpApp {
  private closing: Promise<void> | undefined;

  private constructor(
    readonly nest: INestApplication,
    readonly log: LogRecorder,
    private readonly origin: string,
  ) {}

  static async start(
    parts: ModuleMetadata,
    prepare: (nest: INestApplication) => void = () => undefined,
    adapter?: AbstractHttpAdapter,
  ): Promise<HttpApp> {
    const log = new LogRecorder();
    const module = await Test.createTestingModule(parts).setLogger(log).compile();
    const nest = adapter
      ? module.createNestApplication(adapter, { logger: log })
      : module.createNestApplication({ logger: log });
    prepare(nest);
    await nest.listen(0, '127.0.0.1');
    const { port } = (nest.getHttpServer() as Server).address() as AddressInfo;
    return new HttpApp(nest, log, `http://127.0.0.1:${port}`);
  }

  /** The messages of errors and warnings in its log. */
  get problems(): readonly string[] {
    return this.log.lines.flatMap(({ level, message }) => (/error|warn/.test(level) ? [message] : []));
  }

  get admin(): LockAdmin {
    return this.nest.get(LockAdmin, { strict: false });
  }

  get locks(): LockService {
    return this.nest.get(LockService, { strict: false });
  }

  url(path: string): URL {
    return new URL(path, this.origin);
  }

  async get(path: string, init: RequestInit = {}): Promise<Answer> {
    const headers = { ...(init.headers as Record<string, string> | undefined), connection: 'close' };
    const response = await fetch(this.url(path), { ...init, headers });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? (JSON.parse(text) as unknown) : text,
    };
  }

  post(path: string, body: unknown): Promise<Answer> {
    const headers = { 'content-type': 'application/json' };
    return this.get(path, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  /** Resolves with the next event of that type and key; call it before the action that causes the event. */
  next(type: LockEvent['type'], key: string): Promise<LockEvent> {
    return new Promise((resolve) => {
      const subscription = this.locks.events.subscribe((event) => {
        if (event.type !== type || event.key !== key) return;
        queueMicrotask(() => subscription.unsubscribe());
        resolve(event);
      });
    });
  }

  close(): Promise<void> {
    this.closing ??= this.nest.close();
    return this.closing;
  }
}

/** The applications of the tests of a group, closed after each test. */
export class HttpApps {
  private readonly started: HttpApp[] = [];

  constructor() {
    afterEach(() => Promise.all(this.started.splice(0).map((app) => app.close())));
  }

  async start(
    parts: ModuleMetadata,
    prepare?: (nest: INestApplication) => void,
    adapter?: AbstractHttpAdapter,
  ): Promise<HttpApp> {
    const app = await HttpApp.start(parts, prepare, adapter);
    this.started.push(app);
    return app;
  }
}
