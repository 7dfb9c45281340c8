import { gzipSync } from 'node:zlib';
import {
  VersioningType,
  type CallHandler,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import { map, type Observable } from 'rxjs';
import { pageScript, pageStyle } from '../../../lib/dashboard/page.generated.js';
import { ADAPTERS } from '../nest/http-app.js';
import { OpsPages, type OpsPage } from './ops-page.js';

/** Wraps all responses, as some applications do. */
class Envelope implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

const versioned = (nest: INestApplication): void => {
  nest.setGlobalPrefix('api');
  nest.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
};

describe.each(Object.entries(ADAPTERS))('the lock dashboard on %s', (_, adapter) => {
  const pages = new OpsPages();
  afterEach(() => pages.close());
  const start = (setting: Parameters<OpsPages['start']>[0] = {}): Promise<OpsPage> =>
    pages.start({ ...setting, adapter: adapter() });

  it('is HTML that loads only its own script and style', async () => {
    const page = await start();
    const { status, headers, text } = await page.get();
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^text\/html; charset=utf-8/i);
    expect(headers.get('cache-control')).toBe('no-store');
    const addresses = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) =>
      address.replaceAll('&amp;', '&'),
    );
    expect(addresses).toHaveLength(2);
    for (const address of addresses) {
      expect(address).toMatch(/^\?file=page\.(js|css)&v=[\w-]+$/);
      const file = await page.get(address);
      expect(file.status).toBe(200);
      expect(file.headers.get('content-type')).toMatch(
        address.includes('.js') ? /^text\/javascript/ : /^text\/css/,
      );
      expect(file.headers.get('cache-control')).toContain('immutable');
      expect(file.text).not.toMatch(/https?:\/\/(?!www\.w3\.org\/)/);
    }
  });

  it('restricts the browser to its own files and data, in every response', async () => {
    const page = await start();
    for (const query of ['', '?file=page.js', '?data=overview']) {
      const { headers } = await page.get(query);
      const policy = headers.get('content-security-policy');
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    }
  });

  it('follows prefix, version and path of the application', async () => {
    const page = await start({
      prepare: versioned,
      dashboard: { access: 'open', path: '/ops/locks' },
      at: '/api/v1/ops/locks',
    });
    expect((await page.get()).status).toBe(200);
    expect((await page.overview()).processes).toHaveLength(1);
    expect((await page.app.get('/ops/locks')).status).toBe(404);
  });

  it('is not changed by interceptors that wrap responses', async () => {
    const page = await start({ parts: { providers: [{ provide: APP_INTERCEPTOR, useClass: Envelope }] } });
    expect((await page.get()).text).toMatch(/^<!doctype html>/);
    expect(await page.overview()).toMatchObject({ allowBreak: false, processes: [{ held: [] }] });
  });

  it('answers 404 for unknown files and data, and 400 for invalid keys and cursors', async () => {
    const page = await start();
    const queries = [
      '?file=../package.json',
      '?file=constructor',
      '?data=secrets',
      '?data=lock&key=a&instance=billing',
    ];
    for (const query of queries) expect((await page.get(query)).status).toBe(404);
    for (const query of ['?data=lock', '?data=lock&key=', `?data=lock&key=${'k'.repeat(2_000)}`])
      expect((await page.get(query)).status).toBe(400);
    for (const query of ['cursor=', 'cursor=a&cursor=b', `cursor=${'k'.repeat(2_000)}`, 'match=a&match=b']) {
      const { status, text } = await page.get(`?data=list&${query}`);
      expect([status, text]).toEqual([400, expect.stringMatching(/(cursor|match) must be/)]);
    }
  });
});

describe('O22: the files of the page', () => {
  it('take at most 20 kB on the wire in total', () => {
    const sizes = [pageScript, pageStyle].map((text) => gzipSync(text).length);
    expect(pageScript).toContain('page');
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(20_000 - 1_000);
  });
});
