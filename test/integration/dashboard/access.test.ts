import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import {
  Injectable,
  Module,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { LockDashboardModule, type LockDashboardOptions } from '../../../lib/dashboard/index.js';
import { DistributedLockModule, LockOptionsError } from '../../../lib/index.js';
import { ADAPTERS } from '../nest/http-app.js';
import { OpsPage, OpsPages } from './ops-page.js';

@Injectable()
class Operators {
  readonly passwords = ['open sesame'];
}

@Module({ providers: [Operators], exports: [Operators] })
class OperatorsModule {}

@Injectable()
class OpsGuard implements CanActivate {
  constructor(private readonly operators: Operators) {}

  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return this.operators.passwords.includes(headers['x-password'] ?? '');
  }
}

const guarded: LockDashboardOptions = { guards: [OpsGuard], imports: [OperatorsModule], allowBreak: true };

describe('O20: access to the lock dashboard', () => {
  const pages = new OpsPages();
  afterEach(() => pages.close());

  it('is required: without it the application does not start, and the error names the remedy', () => {
    for (const options of [undefined, {}, { guards: [] }, { allowBreak: true }]) {
      const start = () => LockDashboardModule.forRoot(options as LockDashboardOptions);
      expect(start).toThrow(LockOptionsError);
      expect(start).toThrow(/forRoot\(\{ guards: \[OpsGuard\] \}\).*access: 'open'/);
    }
  });

  it.each([
    [{ access: 'yes' }, /access must be 'open'/],
    [{ access: 'open', guards: [OpsGuard] }, /leave out one of them/],
    [{ guards: OpsGuard }, /guards must be an array/],
    [{ guards: ['OpsGuard'] }, /canActivate/],
    [{ access: 'open', path: 7 }, /path must be a string/],
    [{ access: 'open', allowBreak: 'yes' }, /allowBreak must be true or false/],
    [
      { access: 'open', allowBreak: true },
      /needs hosts.*DNS rebinding.*hosts: \['ops.example.com'\], or use guards/,
    ],
    [{ access: 'open', hosts: 'localhost' }, /hosts must be an array of host names/],
    [{ access: 'open', hosts: [] }, /hosts must be an array of host names/],
    [{ access: 'open', hosts: ['http://localhost'] }, /hosts must be an array of host names/],
    [{ access: 'open', user: 'root' }, /user must be a function/],
    [{ access: 'open', guard: [OpsGuard] }, /unknown option "guard"/],
  ])('rejects %j', (options, message) => {
    expect(() => LockDashboardModule.forRoot(options as unknown as LockDashboardOptions)).toThrow(message);
  });

  it('needs locks: without DistributedLockModule the application does not start', async () => {
    const module = await Test.createTestingModule({
      imports: [LockDashboardModule.forRoot({ access: 'open' })],
    }).compile();
    await expect(module.createNestApplication({ logger: false }).init()).rejects.toThrow(
      'import DistributedLockModule.forRoot(…)',
    );
  });

  it('two imports serve one page for viewing and another for breaking', async () => {
    const page = await pages.start({
      dashboard: { access: 'open' },
      parts: { imports: [LockDashboardModule.forRoot({ ...guarded, path: 'operators/locks' })] },
    });
    const operators = new OpsPage(page.app, '/operators/locks');
    const key = 'nightly';
    const { token } = await page.app.locks.acquire(key);
    const wish = { key, instance: null, token };
    const password = { 'sec-fetch-site': 'same-origin', 'x-password': 'open sesame' };

    expect((await page.overview()).allowBreak).toBe(false);
    expect((await page.break(wish, password)).status).toBe(403);
    expect((await operators.get()).status).toBe(403);
    expect((await operators.get('?data=overview', password)).body).toMatchObject({ allowBreak: true });
    expect((await operators.break(wish)).status).toBe(403);
    expect(await page.app.locks.isLocked(key)).toBe(true);
    expect((await operators.break(wish, password)).status).toBe(200);
    expect(await page.app.locks.isLocked(key)).toBe(false);
  });

  it.each(Object.entries(ADAPTERS))(
    'guards protect all files and data of the page, and get their dependencies (%s)',
    async (_, adapter) => {
      const page = await pages.start({ dashboard: guarded, adapter: adapter() });
      const password = { 'x-password': 'open sesame' };
      for (const query of [
        '',
        '?file=page.js',
        '?file=page.css',
        '?data=overview',
        '?data=list',
        '?data=lock&key=a',
      ]) {
        expect((await page.get(query)).status).toBe(403);
        expect((await page.get(query, password)).status).toBe(200);
      }
      const hold = await page.app.locks.acquire('a');
      const wanted = { key: 'a', instance: null, token: hold.token };
      expect((await page.break(wanted)).status).toBe(403);
      expect(hold.isHeld).toBe(true);
      const own = { ...password, 'sec-fetch-site': 'same-origin' };
      expect((await page.break(wanted, own)).status).toBe(200);
    },
  );

  it.each(Object.entries(ADAPTERS))(
    'is denied to a site whose name resolves to the application (%s)',
    async (_, adapter) => {
      const page = await pages.start({
        dashboard: { access: 'open', allowBreak: true, hosts: ['127.0.0.1', 'Ops.example.com:8080'] },
        adapter: adapter(),
      });
      const hold = await page.app.locks.acquire('a');
      /** The headers that a browser sends from a page of that host. */
      const ask = async (host: string, body?: object): Promise<number> => {
        const sent = request(page.app.url('/locks'), {
          method: body ? 'POST' : 'GET',
          headers: {
            host,
            origin: `http://${host}`,
            'sec-fetch-site': 'same-origin',
            'content-type': 'application/json',
            connection: 'close',
          },
        });
        sent.end(body && JSON.stringify(body));
        const [answer] = (await once(sent, 'response')) as [IncomingMessage];
        answer.resume();
        return answer.statusCode ?? 0;
      };
      const wish = { key: 'a', instance: null, token: hold.token };
      const { port } = page.app.url('/');
      for (const host of [
        `rebound.example:${port}`,
        'rebound.example',
        'ops.example.com',
        '127.0.0.1.rebound.example',
      ]) {
        expect(await ask(host)).toBe(403);
        expect(await ask(host, wish)).toBe(403);
      }
      expect(hold.isHeld).toBe(true);
      for (const host of [`127.0.0.1:${port}`, '127.0.0.1', 'ops.example.com:8080'])
        expect(await ask(host)).toBe(200);
      expect(await ask(`127.0.0.1:${port}`, wish)).toBe(200);
      expect(hold.isHeld).toBe(false);
    },
  );

  it('serves no page in workers, whose locks other pages show', async () => {
    const module = await Test.createTestingModule({
      imports: [
        DistributedLockModule.forRoot({ store: 'memory' }),
        LockDashboardModule.forRoot({ page: false }),
      ],
    }).compile();
    const nest: INestApplication = module.createNestApplication({ logger: false });
    await nest.listen(0, '127.0.0.1');
    const response = await fetch(`${await nest.getUrl()}/locks`);
    expect(response.status).toBe(404);
    await nest.close();
  });
});
