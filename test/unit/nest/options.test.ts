import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import ts from 'typescript';
import {
  resolveModuleOptions,
  type DistributedLockOptions,
  type ResolvedModuleOptions,
} from '../../../lib/nest/module/distributed-lock.options.js';
import {
  DistributedLockModule,
  backoff,
  getLockAdminToken,
  getLockServiceToken,
  LockAdmin,
  LockOptionsError,
  LockService,
  MemoryLockStore,
} from '../../../lib/index.js';
import { FallbackLockStore } from '../../../lib/stores/fallback/fallback-lock-store.js';
import { REDIS_OPTION_NAMES } from '../../../lib/stores/redis/connection/redis-option-names.js';
import { resolveLockOptions, type LockOptions } from '../../../lib/model/lock.options.js';

const resolve = (options: unknown): ResolvedModuleOptions =>
  resolveModuleOptions(options as DistributedLockOptions);

const refusal = (options: unknown): string => {
  try {
    resolve(options);
  } catch (error) {
    expect(error).toBeInstanceOf(LockOptionsError);
    expect(error).toMatchObject({ code: 'LOCK_OPTIONS' });
    return (error as Error).message;
  }
  throw new Error('the options were not rejected');
};

const inspected = (value: unknown): string =>
  typeof value === 'object' && value !== null ? 'an object' : inspect(value);

describe('module options', () => {
  it('B5: omitted options have the documented defaults', () => {
    const { store, ...others } = resolve({ store: 'memory' });
    expect(others).toEqual({
      waitTime: 5_000,
      maxWaiting: Infinity,
      reentrant: true,
      watchdogTimeout: 30_000,
      shutdownTimeout: 10_000,
      warnHeldAfter: 600_000,
      requireStoreAtStart: false,
      http: { busyStatus: 423 },
      rpc: { showKeys: true },
    });
    expect(store).toBeInstanceOf(MemoryLockStore);
    const undefinedOnes = { waitTime: undefined, watchdogTimeout: undefined, http: undefined };
    expect(resolve({ store: 'memory', redis: undefined, ...undefinedOnes })).toMatchObject(others);
  });

  it('B5: options keep their values', () => {
    const given = { waitTime: 0, watchdogTimeout: 5_000, shutdownTimeout: 0, http: { busyStatus: 409 } };
    expect(resolve({ store: 'memory', ...given })).toMatchObject(given);
    expect(resolve({ store: 'memory', warnHeldAfter: false })).toMatchObject({ warnHeldAfter: Infinity });
    expect(resolve({ store: 'memory', waitTime: Infinity, http: false })).toMatchObject({
      waitTime: Infinity,
      http: false,
    });
    expect(resolve({ store: 'memory', waitTime: 1.2, http: {} })).toMatchObject({
      waitTime: 2,
      http: { busyStatus: 423 },
    });
  });

  it.each([
    [
      'waitTime',
      [-1, -Infinity, NaN, 2 ** 31, '5s', null, true, 5n, {}],
      /from 0 to 2147483647, or Infinity/,
    ],
    ['watchdogTimeout', [0, 99, -1, NaN, Infinity, 2 ** 31, '30s', null], /from \d+ to 2147483647; got/],
    ['warnHeldAfter', [0, 999, true, NaN, Infinity, 2 ** 31, '10', null], /from 1000 to 2147483647; got/],
    ['shutdownTimeout', [-1, NaN, Infinity, 2 ** 31, '10', null], /from 0 to 2147483647; got/],
  ])('B5: a bad %s is rejected with its value and bounds', (name, values, bounds) => {
    for (const value of values) {
      const message = refusal({ store: 'memory', [name]: value });
      expect(message).toContain(`${name} must be a number of milliseconds`);
      expect(message).toMatch(bounds);
      expect(message).toContain(`got ${inspected(value)}`);
    }
  });

  it.each([
    ['a number', 7, 'well-formed string; got 7'],
    ['null', null, 'well-formed string; got null'],
    ['a lone surrogate', 'a\ud800', 'well-formed string'],
    ['a long one', 'x'.repeat(257), 'at most 256 bytes in UTF-8; got 257'],
    ['a long one in UTF-8', 'ü'.repeat(129), 'at most 256 bytes in UTF-8; got 258'],
    ['an open brace', 'a{b', 'one hash tag such as {app}'],
    ['an empty tag', 'a{}', 'one hash tag'],
    ['two tags', '{a}{b}', 'one hash tag'],
  ])('B5: keyPrefix rejects %s', (_, keyPrefix, message) => {
    expect(refusal({ redis: 'redis://localhost', keyPrefix })).toContain(message);
    expect(refusal({ store: 'memory', keyPrefix })).toContain(message);
  });

  it.each(['', 'lock:', '{app}:', 'a b\r\n', 'ü'.repeat(128)])('B5: keyPrefix may be %j', (keyPrefix) => {
    expect(() => resolve({ redis: 'redis://localhost', keyPrefix })).not.toThrow();
  });

  it('B5: rpc.showKeys is true by default, and other values and options are rejected', () => {
    expect(resolve({ store: 'memory', rpc: {} }).rpc).toEqual({ showKeys: true });
    expect(resolve({ store: 'memory', rpc: { showKeys: false } }).rpc).toEqual({ showKeys: false });
    for (const showKeys of ['yes', null, 1]) {
      expect(refusal({ store: 'memory', rpc: { showKeys } })).toContain('rpc.showKeys must be true or false');
    }
    expect(refusal({ store: 'memory', rpc: { keys: true } })).toContain('rpc: unknown option "keys"');
    expect(refusal({ store: 'memory', rpc: true })).toContain('rpc: options must be an object');
  });

  it('B5: http rejects values that are no error status, and unknown options', () => {
    for (const busyStatus of [200, 399, 600, 423.5, '423', null, NaN]) {
      const message = refusal({ store: 'memory', http: { busyStatus } });
      expect(message).toContain('http.busyStatus must be an HTTP error status from 400 to 599');
    }
    for (const busyStatus of [400, 599]) {
      expect(resolve({ store: 'memory', http: { busyStatus } }).http).toEqual({ busyStatus });
    }
    expect(refusal({ store: 'memory', http: { status: 409 } })).toContain(
      'http: unknown option "status". Known options are busyStatus',
    );
    for (const http of [true, null, 423, 'off', []]) {
      expect(refusal({ store: 'memory', http })).toContain('http: options must be an object; got');
    }
  });

  it('B65: onUnavailable is throw by default, local wraps the store, and nothing else is accepted', () => {
    const store = new MemoryLockStore();
    for (const onUnavailable of [undefined, 'throw'])
      expect(resolve({ store, onUnavailable }).store).toBe(store);
    const wrapped = resolve({ store, onUnavailable: 'local' }).store;
    expect(wrapped).toBeInstanceOf(FallbackLockStore);
    expect(wrapped.name).toBe(store.name);
    for (const onUnavailable of ['memory', '', true, null, 1, {}]) {
      expect(refusal({ store, onUnavailable })).toContain(
        `onUnavailable must be 'throw' or 'local'; got ${inspected(onUnavailable)}`,
      );
    }
  });

  it("B65: onUnavailable: 'local' is rejected where it has no effect", () => {
    expect(refusal({ store: 'memory', onUnavailable: 'local' })).toContain(
      "onUnavailable: 'local' has no effect with store: 'memory', which is always reachable. Leave it out.",
    );
    expect(() => resolve({ store: 'memory', onUnavailable: 'throw' })).not.toThrow();
  });

  it('B5: options that belong beside useFactory are rejected in its result, and the message says so', () => {
    expect(refusal({ store: 'memory', name: 'x' })).toBe(
      'DistributedLockModule: name belongs next to useFactory (useClass, useExisting), not in the options that it returns: ' +
        'forRootAsync({ name: …, useFactory: … }).',
    );
    expect(refusal({ store: 'memory', isGlobal: false })).toContain('isGlobal belongs next to useFactory');
  });

  it('B5: unknown options are rejected with a list of the known ones', () => {
    const message = refusal({ store: 'memory', waitTimeout: 5 });
    expect(message).toContain('unknown option "waitTimeout"');
    for (const name of ['redis', 'store', 'replicas', 'keyPrefix', 'waitTime', 'http', 'name', 'isGlobal']) {
      expect(message).toContain(name);
    }
  });

  it.each([
    ['undefined', undefined],
    ['a string', 'redis://localhost'],
    ['an array', []],
  ])('B5: %s instead of options is rejected', (_, options) => {
    expect(refusal(options)).toContain('options must be an object; got');
    const forRoot = DistributedLockModule.forRoot.bind(DistributedLockModule);
    const forRootAsync = DistributedLockModule.forRootAsync.bind(DistributedLockModule);
    expect(() => forRoot(options as unknown as DistributedLockOptions)).toThrow(LockOptionsError);
    expect(() => forRootAsync(options as unknown as object)).toThrow(LockOptionsError);
  });

  it.each([
    ['redis://:s3cr3t@a:6379,b:6379', /names several servers\. Give \{ nodes/],
    ['redis://localhost?tls=false', /has a parameter tls\. Write rediss:\/\/ for TLS/],
    ['redis://localhost?tls=true', /has a parameter tls/],
  ])('F40: the URL %s is rejected with a remedy', (redis, message) => {
    expect(refusal({ redis })).toMatch(message);
    expect(refusal({ redis })).not.toContain('s3cr3t');
  });

  it('B1: exactly one of redis, quorum and store is required', () => {
    expect(refusal({})).toMatch(
      /exactly one of redis, quorum and store.*forRoot\(\{ store: 'memory' \}\); got none of them/,
    );
    expect(refusal({ waitTime: 3_000 })).toContain('got none of them');
    expect(refusal({ redis: 'redis://localhost', store: 'memory' })).toContain('got redis and store');
    expect(refusal({ redis: 'redis://localhost', quorum: ['redis://a'] })).toContain('got redis and quorum');
  });

  it('B1: an undefined redis, such as an unset variable, is reported as undefined', () => {
    expect(refusal({ redis: undefined })).toMatch(
      /^DistributedLockModule: redis is undefined\. .*not set.*forRoot\(\{ redis: 'redis:\/\/localhost:6379' \}\)\.$/,
    );
    expect(refusal({ redis: undefined })).not.toContain('store');
    expect(refusal({ quorum: undefined, waitTime: 5 })).toContain('quorum is undefined');
    expect(refusal({ store: undefined })).toContain('store is undefined');
    expect(refusal({ redis: undefined, store: undefined })).toContain('redis is undefined');
    expect(resolve({ redis: undefined, store: 'memory' }).store.name).toContain('memory');
  });

  it('B1: quorum lists each server once, and an error names the entry', () => {
    for (const quorum of [null, 'redis://a', {}, 3]) {
      expect(refusal({ quorum })).toContain('quorum must be an array with one entry for each server');
    }
    expect(refusal({ quorum: [] })).toContain('got an empty array');
    expect(refusal({ quorum: ['redis://a', 7] })).toContain('quorum[1]: redis must be a URL');
    expect(refusal({ quorum: ['redis://a', 'redis://u:s3cret@b:x'] })).not.toContain('s3cret');
    for (const twin of ['redis://a:6379/3', { host: 'a' }, new Redis({ host: 'a', lazyConnect: true })]) {
      const message = refusal({ quorum: ['redis://b', 'redis://a', twin] });
      expect(message).toContain('quorum[2] is the same server as quorum[1] (Redis at a:6379)');
    }
    const { store } = resolve({ quorum: ['redis://u:s3cret@a', { host: 'b', port: 6380 }] });
    expect(store.name).toBe('a quorum of 2 servers (Redis at a:6379, Redis at b:6380)');
    expect(resolve({ quorum: ['redis://a'] }).store.name).toContain('a quorum of 1 server');
  });

  it('B1: store rejects values that are no store', () => {
    for (const store of ['redis', '', 7, null, {}, { open: true }, () => undefined]) {
      expect(refusal({ store })).toContain(
        "store must be 'memory' or an object that implements LockStore; got",
      );
    }
    const store = new MemoryLockStore();
    expect(resolve({ store }).store).toBe(store);
  });

  it('B1: redis rejects values that are no address, without connecting', () => {
    for (const redis of [null, 7, true, [], () => undefined]) {
      expect(refusal({ redis })).toContain('redis must be a URL, options of ioredis, or a client; got');
    }
    for (const redis of ['', 'localhost:6379', 'http://localhost', 'redis:localhost']) {
      expect(refusal({ redis })).toContain('does not start with redis:// or rediss://');
    }
  });

  it.each([
    [{ sentinels: [], name: 'm' }, 'redis.sentinels must list at least one Sentinel'],
    [{ sentinels: 'localhost', name: 'm' }, 'redis.sentinels must list at least one Sentinel'],
    [{ sentinels: [{ port: 26379 }] }, 'redis.name must be the name that Sentinel gives the primary'],
    [{ sentinels: [{ port: 26379 }], name: 'm', role: 'slave' }, "redis.role must be 'master'"],
    [{ nodes: [] }, 'redis.nodes must list at least one node'],
    [{ nodes: 'redis://localhost' }, 'redis.nodes must list at least one node'],
    [{ nodes: [7000], option: {} }, 'redis: unknown option "option". Known options are nodes, options'],
    [{ nodes: [7000], options: 'tls' }, 'redis.options: options must be an object'],
    [{ nodes: ['http://localhost'] }, 'does not start with redis:// or rediss://'],
    [{ nodes: [{ port: 'abc' }] }, 'the port of redis must be a number'],
    [{ nodes: ['redis://localhost/3'] }, 'only database 0'],
    [{ nodes: [7000], options: { redisOptions: { db: 3 } } }, 'only database 0'],
  ])('B1: rejects %j, which names no Sentinel or cluster', (redis, message) => {
    expect(refusal({ redis })).toContain(message);
  });

  it('B1: no error shows a URL passed instead of a list, since it may contain a password', () => {
    const url = 'redis://:secret@localhost';
    for (const options of [
      { quorum: url },
      { redis: { nodes: url } },
      { redis: { sentinels: url, name: 'm' } },
    ]) {
      expect(refusal(options)).toContain('got a string');
      expect(refusal(options)).not.toContain('secret');
    }
  });

  it('B1: replicas rejects bad counts, timeouts and other stores', () => {
    const redis = 'redis://localhost';
    for (const min of [0, -1, 1.5, 101, '1', undefined]) {
      expect(refusal({ redis, replicas: { min } })).toContain(
        'replicas.min must be a number of replicas from 1',
      );
    }
    for (const timeout of [0, 1_001, 1.5, Infinity, '5', null]) {
      const message = refusal({ redis, replicas: { min: 1, timeout } });
      expect(message).toContain('replicas.timeout must be a whole number of milliseconds from 1 to 1000');
    }
    expect(refusal({ redis, watchdogTimeout: 1_200, replicas: { min: 1, timeout: 101 } })).toContain(
      'from 1 to 100 with a watchdogTimeout of 1200',
    );
    expect(refusal({ redis, replicas: 1 })).toContain('replicas: options must be an object; got 1');
    expect(refusal({ redis, replicas: { min: 1, wait: 5 } })).toContain('unknown option "wait"');
    for (const other of [{ store: 'memory' }, { quorum: ['redis://a', 'redis://b', 'redis://c'] }]) {
      expect(refusal({ ...other, replicas: { min: 1 } })).toContain('replicas goes with redis');
    }
    expect(() => resolve({ redis, replicas: { min: 100, timeout: 1_000 } })).not.toThrow();
  });

  it('B5: the error for a bad URL shows no password', () => {
    for (const redis of [
      'redis://:p%ss s3cret@[bad',
      'user:s3cret@localhost',
      'redis://u:s3cret@localhost:port',
    ]) {
      expect(refusal({ redis })).not.toContain('s3cret');
    }
    expect(refusal({ redis: { password: 's3cret' }, store: 's3cret' })).not.toContain('s3cret');
    expect(refusal({ store: { password: 's3cret' } })).not.toContain('s3cret');
  });

  it('B1: the name of the store contains the address and no password', () => {
    const nameOf = (redis: unknown): string => resolve({ redis }).store.name;
    expect(nameOf('redis://user:s3cret@example.org:6380/2')).toBe('Redis at example.org:6380, database 2');
    expect(nameOf('rediss://example.org')).toBe('Redis at example.org:6379');
    expect(nameOf({ password: 's3cret' })).toBe('Redis at localhost:6379');
    expect(nameOf({ path: '/run/redis.sock' })).toBe('Redis at /run/redis.sock');
    expect(nameOf({ host: 'example.org', port: '6380' })).toBe('Redis at example.org:6380');
    expect(nameOf(new Redis({ port: 6390, lazyConnect: true }))).toBe('Redis at localhost:6390');
    const sentinels = [{ host: 'a', port: 26380 }, { host: 'b' }];
    const bySentinel = 'Redis at "main" by Sentinel (a:26380, b:26379)';
    const secrets = { password: 's3cret', sentinelPassword: 's3cret' };
    expect(nameOf({ sentinels, name: 'main', ...secrets })).toBe(bySentinel);
    expect(nameOf(new Redis({ sentinels, name: 'main', lazyConnect: true, ...secrets }))).toBe(bySentinel);
    const nodes = [
      'redis://user:s3cret@a:7000',
      { host: 'b', port: 7001, password: 's3cret' },
      'c:7002',
      7003,
    ];
    const inCluster = 'Redis Cluster at a:7000, b:7001, c:7002, localhost:7003';
    expect(nameOf({ nodes })).toBe(inCluster);
    expect(nameOf(new Cluster(['redis://user:s3cret@a:7000'], { lazyConnect: true }))).toBe(
      'Redis Cluster at a:7000',
    );
  });

  it.each([
    ['redis://localhost/abc', 'the database of redis must be a number from 0'],
    [{ db: -1 }, 'the database of redis must be a number from 0'],
    [{ port: 'abc' }, 'the port of redis must be a number from 0 to 65535'],
    [{ url: 'redis://localhost' }, 'redis has no option url; give the URL itself'],
    [{ uri: 'redis://localhost' }, 'redis has no option uri; give the URL itself'],
    [{ hostname: 'redis', port: 6379 }, 'redis has no option hostname; give host.'],
    [{ socket: { host: 'redis' } }, 'redis has no option socket; give host and port, or path'],
    [{ host: 'redis', timeout: 5 }, 'redis has no option timeout; known are host, port, path'],
    [{ nodes: [{ hostname: 'redis' }] }, 'redis has no option hostname; give host.'],
    [Promise.resolve(new Redis({ lazyConnect: true })), 'redis is a promise. Await it'],
  ])('B5: rejects %j, which ioredis would misinterpret', (redis, message) => {
    expect(() => resolve({ redis })).toThrow(LockOptionsError);
    expect(() => resolve({ redis })).toThrow(message);
    expect(() => resolve({ quorum: ['redis://a', redis] })).toThrow(message);
  });

  it('B5: knows every option of ioredis for one server', () => {
    const file = fileURLToPath(new URL('./redis-options.ts', import.meta.url));
    const text =
      "import type { RedisOptions } from 'ioredis';\nexport declare const all: Required<RedisOptions>;\n";
    const host = ts.createCompilerHost({});
    const getSourceFile = host.getSourceFile.bind(host);
    host.getSourceFile = (name, ...rest) =>
      name === file ? ts.createSourceFile(name, text, ts.ScriptTarget.ES2022) : getSourceFile(name, ...rest);
    const { NodeNext: moduleResolution } = ts.ModuleResolutionKind;
    const { NodeNext: module } = ts.ModuleKind;
    const program = ts.createProgram(
      [file],
      { moduleResolution, module, strict: true, types: ['node'] },
      host,
    );
    const types = program.getTypeChecker();
    const source = program.getSourceFile(file)!;
    const [all] = types.getExportsOfModule(types.getSymbolAtLocation(source)!);
    const names = types.getTypeOfSymbol(all!).getProperties();
    expect([...REDIS_OPTION_NAMES].sort()).toEqual(names.map(({ name }) => name).sort());
  });

  it.each([
    ['a client of node-redis', { duplicate: () => undefined, options: {}, isOpen: false }, 'Give its URL'],
    [
      'a mock of ioredis',
      new (class RedisMock {
        duplicate = () => undefined;
      })(),
      "Give store: 'memory'",
    ],
    ['no client of ioredis', { duplicate: () => undefined }, 'Give its URL'],
  ])('B5: rejects %s, and says what to give instead', (what, redis, instead) => {
    expect(() => resolve({ redis })).toThrow(`redis is ${what}`);
    expect(() => resolve({ redis })).toThrow(instead);
  });
});

describe('options of a call', () => {
  const resolveCall = (options: unknown): unknown =>
    resolveLockOptions('withLock', options as LockOptions | undefined, 5_000);

  it.each([
    [1, '1'],
    ['true', "'true'"],
    [{}, 'an object'],
  ])('F40: fair rejects %j', (fair, shown) => {
    expect(() => resolveCall({ fair })).toThrow(LockOptionsError);
    expect(() => resolveCall({ fair })).toThrow(`withLock: fair must be true or false; got ${shown}.`);
  });

  it('retry is undefined by default, and its own options have defaults', () => {
    for (const options of [undefined, {}, { retry: undefined }]) {
      expect(resolveCall(options)).toMatchObject({ retry: undefined });
    }
    const fixed = backoff.fixed(70);
    expect(resolveCall({ retry: { maxAttempts: 3, backoff: fixed } })).toMatchObject({
      retry: { maxAttempts: 3, backoff: fixed },
    });
    for (const retry of [{}, { maxAttempts: undefined, backoff: undefined }, { maxAttempts: Infinity }]) {
      expect(resolveCall({ retry })).toMatchObject({
        retry: { maxAttempts: Infinity, backoff: backoff.exponential() },
      });
    }
  });

  it.each([
    ['a number', 3, '3'],
    ['an array', [], 'an array'],
    ['a backoff', backoff.fixed(5), 'only a backoff'],
  ])('F40: retry rejects %s', (_, retry, shown) => {
    expect(() => resolveCall({ retry })).toThrow(LockOptionsError);
    expect(() => resolveCall({ retry })).toThrow(
      `withLock: retry must be an object such as { maxAttempts: 5, backoff: backoff.fixed(100) }; got ${shown}.`,
    );
  });

  it('F40: retry rejects bad counts, and values that are no backoff', () => {
    for (const maxAttempts of [0, -1, 1.5, NaN, -Infinity, 2 ** 53, '3', null, 3n]) {
      const call = (): unknown => resolveCall({ retry: { maxAttempts } });
      expect(call).toThrow(LockOptionsError);
      expect(call).toThrow(
        `withLock: retry.maxAttempts must be an integer from 1, or Infinity; got ${inspected(maxAttempts)}.`,
      );
    }
    const lookalike = { pauseAfter: (): number => 5 };
    for (const backoff of [100, null, 'fixed', {}, lookalike]) {
      const call = (): unknown => resolveCall({ retry: { backoff } });
      expect(call).toThrow(LockOptionsError);
      expect(call).toThrow(
        `withLock: retry.backoff must be backoff.fixed(ms) or backoff.exponential({ min, max, jitter }); got ${inspected(backoff)}.`,
      );
    }
    expect(() => resolveCall({ retry: { backoff: backoff.fixed } })).toThrow('got a function.');
    expect(() => resolveCall({ retry: { attempts: 3 } })).toThrow(
      'withLock: retry: unknown option "attempts". Known options are maxAttempts, backoff.',
    );
  });

  it('F40: retry rejects options with which it has no effect', () => {
    const retry = { maxAttempts: 3 };
    const noWaitTime = 'withLock: retry needs a waitTime, since with waitTime 0 a call never tries again.';
    expect(() => resolveCall({ retry, waitTime: 0 })).toThrow(LockOptionsError);
    expect(() => resolveCall({ retry, waitTime: 0 })).toThrow(noWaitTime);
    expect(() => resolveLockOptions('withLock', { retry }, 0)).toThrow(noWaitTime);
    expect(resolveLockOptions('withLock', { retry, waitTime: 1 }, 0)).toMatchObject({ retry });
    expect(() => resolveCall({ retry, fair: true })).toThrow(LockOptionsError);
    expect(() => resolveCall({ retry, fair: true })).toThrow('withLock: fair and retry exclude each other');
    expect(resolveCall({ retry, fair: false })).toMatchObject({ retry });
  });

  it('F40: an unknown option is rejected with a list of the known ones', () => {
    expect(() => resolveCall({ fairness: true })).toThrow(/unknown option "fairness".*fair/);
  });
});

describe('names of module instances', () => {
  it('B3: without a name the token is the class, and each name has its own token', () => {
    expect(getLockServiceToken()).toBe(LockService);
    expect(getLockServiceToken('a')).toBe(getLockServiceToken('a'));
    expect(getLockServiceToken('a')).not.toBe(getLockServiceToken('b'));
    expect(getLockAdminToken()).toBe(LockAdmin);
    expect(getLockAdminToken('a')).toBe(getLockAdminToken('a'));
    expect(getLockAdminToken('a')).not.toBe(getLockServiceToken('a'));
  });

  it('B3: an invalid name is rejected at once', () => {
    for (const name of ['', 7, null, {}] as unknown as string[]) {
      for (const tokenOf of [getLockServiceToken, getLockAdminToken]) {
        expect(() => tokenOf(name)).toThrow(/name of a lock module must be a non-empty string/);
      }
      expect(() => DistributedLockModule.forRoot({ name, store: 'memory' })).toThrow(LockOptionsError);
    }
  });
});
