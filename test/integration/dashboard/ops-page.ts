import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { LockDashboardModule, type LockDashboardOptions } from '../../../lib/dashboard/index.js';
import type { Overview, ShownList, ShownLock } from '../../../lib/dashboard/wire.js';
import { DistributedLockModule, type DistributedLockOptions } from '../../../lib/index.js';
import { HttpApp, type Answer } from '../nest/http-app.js';

/** An application with the dashboard, seen by a visitor. */
export class OpsPage {
  constructor(
    readonly app: HttpApp,
    private readonly path: string,
  ) {}

  get(query = '', headers: Record<string, string> = {}): Promise<Answer> {
    return this.app.get(`${this.path}${query}`, { headers });
  }

  async overview(): Promise<Overview> {
    return (await this.get('?data=overview')).body as Overview;
  }

  async lock(key: string): Promise<ShownLock | null> {
    return (await this.get(`?${new URLSearchParams({ data: 'lock', key }).toString()}`))
      .body as ShownLock | null;
  }

  async list(query: Record<string, string> = {}): Promise<ShownList> {
    return (await this.get(`?${new URLSearchParams({ data: 'list', ...query }).toString()}`))
      .body as ShownList;
  }

  break(
    body: unknown,
    headers: Record<string, string> = { 'sec-fetch-site': 'same-origin' },
  ): Promise<Answer> {
    return this.app.get(this.path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }
}

export interface OpsSetting {
  readonly locks?: DistributedLockOptions;
  readonly dashboard?: LockDashboardOptions;
  readonly parts?: ModuleMetadata;
  readonly prepare?: (nest: INestApplication) => void;
  readonly adapter?: AbstractHttpAdapter;
  /** The path of the page. */
  readonly at?: string;
}

/** The applications of one test file. They outlive the pages of a browser. */
export class OpsPages {
  private readonly started: HttpApp[] = [];

  async start({
    locks,
    dashboard,
    parts = {},
    prepare,
    adapter,
    at = '/locks',
  }: OpsSetting = {}): Promise<OpsPage> {
    const modules = [
      DistributedLockModule.forRoot(locks ?? { store: 'memory', shutdownTimeout: 0 }),
      LockDashboardModule.forRoot(dashboard ?? { access: 'open' }),
    ];
    const imports = [...modules, ...(parts.imports ?? [])];
    const app = await HttpApp.start({ ...parts, imports }, prepare, adapter);
    this.started.push(app);
    return new OpsPage(app, at);
  }

  async close(): Promise<void> {
    await Promise.all(this.started.splice(0).map((app) => app.close()));
  }
}
