import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Authentication } from '../../../../lib/stores/etcd/connection/etcd-connection.js';
import type { Endpoint } from '../../../../lib/stores/etcd/connection/endpoint.js';

describe('a password function of etcdStore', () => {
  const shown: unknown[] = [];
  const endpoint = {
    authenticate: (credentials: unknown) => Promise.resolve(void shown.push(credentials)),
  } as unknown as Endpoint;

  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
    shown.length = 0;
  });

  it('has 10 s, and is called again by the next attempt', async () => {
    const answers = [new Promise<string>(() => undefined), Promise.resolve('s3cr3t')];
    const password = (): Promise<string> => answers.shift() ?? Promise.reject(new Error('asked too often'));
    const authentication = new Authentication({ username: 'shop', password });
    let failure: unknown;
    const first = authentication.renew(endpoint).catch((error: unknown) => (failure = error));
    await jest.advanceTimersByTimeAsync(9_999);
    expect(failure).toBeUndefined();
    await jest.advanceTimersByTimeAsync(1);
    await first;
    expect(String(failure)).toContain(
      'the password function of etcdStore returned no password within 10000 ms',
    );
    expect(shown).toEqual([]);
    await authentication.renew(endpoint);
    expect(shown).toEqual([{ username: 'shop', password: 's3cr3t' }]);
    expect(jest.getTimerCount()).toBe(0);
  });
});
