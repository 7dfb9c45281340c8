import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CommandArguments, parseDuration } from '../../../lib/cli/common/arguments.js';
import { EXIT } from '../../../lib/cli/common/exit-codes.js';
import { shownDuration } from '../../../lib/common/durations.js';
import {
  Output,
  printable,
  printableJson,
  shellWord,
  withoutSecrets,
  type OutputStream,
} from '../../../lib/cli/common/output.js';
import { storeArguments, storeOptionsOf } from '../../../lib/cli/common/store-options.js';

describe('O25: output of the command line', () => {
  it('escapes control characters, and JSON parses to the same value', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(printable(text)).not.toMatch(/[\p{C}\u2028\u2029]/u);
        expect(printableJson({ text })).not.toMatch(/[\p{C}\u2028\u2029]/u);
        expect(JSON.parse(printableJson({ text }))).toEqual({ text });
      }),
    );
    expect(printable('a\nb\u{E0001}')).toBe(String.raw`a\u000ab\udb40\udc01`);
  });

  it('removes passwords', () => {
    expect(withoutSecrets('got redis://me:ge@heim@host:1/2, and rediss://:x@y')).toBe(
      'got redis://***@host:1/2, and rediss://***@y',
    );
    expect(withoutSecrets('redis://host:1')).toBe('redis://host:1');
  });

  it('quotes a key for a shell', () => {
    expect(shellWord('order:42')).toBe('order:42');
    expect(shellWord("it's $HOME")).toBe(String.raw`'it'\''s $HOME'`);
    expect(shellWord('a\nb')).toBeUndefined();
    expect(shellWord('-x')).toBeUndefined();
  });

  it.each([
    [0, '0 ms'],
    [999.4, '999 ms'],
    [1_000, '1.0 s'],
    [59_999, '59.9 s'],
    [60_000, '1 min 0 s'],
    [3_599_999, '59 min 59 s'],
    [3_600_000, '1 h 0 min'],
    [90_000_000, '1 d 1 h'],
    [Infinity, 'for ever'],
  ])('shows %d ms as %s', (ms, text) => {
    expect(shownDuration(ms)).toBe(text);
  });

  it('ignores a closed pipe, and reports a full disk', () => {
    const written: string[] = [];
    const listeners: ((error: NodeJS.ErrnoException) => void)[] = [];
    const stream: OutputStream = {
      write: (text) => written.push(text) > 0,
      on: (_event, listener) => listeners.push(listener),
    };
    const fail = (code: string): void => {
      for (const listener of listeners.splice(0)) listener(Object.assign(new Error(code), { code }));
    };
    const output = new Output(stream, { write: () => true, on: () => undefined }, false);
    output.lines('one  ', 'two');
    fail('EPIPE');
    output.lines('three');
    expect(written).toEqual(['one\ntwo\n']);
    expect(output).toMatchObject({ isClosed: true, failure: undefined });
    const other = new Output(stream, { write: () => true, on: () => undefined }, false);
    fail('ENOSPC');
    expect(other.failure).toMatchObject({ code: 'ENOSPC' });
  });

  it('keeps its exit codes', () => {
    expect(EXIT).toEqual({
      ok: 0,
      no: 1,
      usage: 64,
      unavailable: 69,
      internal: 70,
      lost: 74,
      notObtained: 75,
      cannotStart: 126,
      notFound: 127,
      signalled: 128,
    });
  });
});

describe('input of the command line', () => {
  it.each([
    ['0', 0],
    ['250ms', 250],
    ['10s', 10_000],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
  ])('accepts the duration %s', (text, ms) => {
    expect(parseDuration('wait', text)).toBe(ms);
  });

  it.each(['', '10', '-1s', 's', '1 s', '1d', '1e3ms', 'Infinity', '1s\n', '.5s'])(
    'rejects the duration %j',
    (text) => {
      expect(() => parseDuration('wait', text)).toThrow('--wait must be a duration with its unit');
    },
  );

  const place = (args: string[], env: NodeJS.ProcessEnv = {}): Promise<unknown> =>
    storeOptionsOf(CommandArguments.parse(args, {}), env, () => Promise.reject(new Error('no file here')));

  it('accepts one URL, several, nodes and sentinels', async () => {
    expect(await place(['--redis', 'redis://a'])).toEqual({ redis: 'redis://a' });
    expect(await place(['--redis', 'redis://a', '--redis', 'redis://b', '--key-prefix', 'p:'])).toEqual({
      quorum: ['redis://a', 'redis://b'],
      keyPrefix: 'p:',
    });
    expect(await place([], { LOCK_REDIS_URL: ' redis://a  redis://b\n' })).toEqual({
      quorum: ['redis://a', 'redis://b'],
    });
    expect(await place(['--redis', 'redis://c'], { LOCK_REDIS_URL: 'redis://a' })).toEqual({
      redis: 'redis://c',
    });
    expect(await place(['--cluster', '--redis', 'redis://a'])).toEqual({ redis: { nodes: ['redis://a'] } });
    expect(
      await place(['--sentinel', 'main', '--redis', 'rediss://me:p%40ss@[::1]:1/3', '--redis', 'redis://s2']),
    ).toEqual({
      redis: {
        sentinels: [
          { host: '::1', port: 1 },
          { host: 's2', port: 26_379 },
        ],
        name: 'main',
        username: 'me',
        password: 'p@ss',
        db: 3,
        tls: {},
        sentinelTLS: {},
        enableTLSForSentinelMode: true,
      },
    });
  });
});

describe('O25: the command line that breaks a lock', () => {
  const words = (...args: string[]) => storeArguments(CommandArguments.parse(args, {}));

  it('repeats the options of the store, quoted for a shell', () => {
    const given = ['--redis', 'redis://a:1', '--redis', 'redis://b:2', '--key-prefix', 'shop:'];
    expect(words(...given, '--cluster')).toEqual([
      ...['--redis', 'redis://a:1', '--redis', 'redis://b:2'],
      ...['--cluster', '--key-prefix', 'shop:'],
    ]);
    expect(words('--config', 'my locks.mjs')).toEqual(['--config', "'my locks.mjs'"]);
    expect(words()).toEqual([]);
  });

  it('leaves out URLs that may contain a password', () => {
    for (const url of ['redis://:geheim@a:1', 'redis://a:1?password=geheim']) {
      expect(words('--redis', url, '--key-prefix', 'shop:')).toEqual(['--key-prefix', 'shop:']);
    }
  });
});
