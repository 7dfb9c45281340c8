import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { next, until, within } from '../support/until.js';
import { whereThereIsPostgres } from '../support/where-there-is.js';
import { PostgresScene } from './scenes/postgres-scene.js';

/** The built-in types, up to the last one with a parser. */
const TYPES = Array.from({ length: 4_000 }, (_, oid) => oid);
type Format = 'text' | 'binary';
const FORMATS: readonly Format[] = ['text', 'binary'];

interface PgSettings {
  readonly defaults: Record<string, unknown>;
  readonly types: {
    getTypeParser(oid: number, format: Format): (value: unknown) => unknown;
    setTypeParser(oid: number, format: Format, parser: (value: unknown) => unknown): void;
  };
}

const { defaults, types } = pg as unknown as PgSettings;

/** Parsers and defaults that applications set for the whole process. */
const SETTINGS: readonly (readonly [name: string, () => void])[] = [
  [
    'every parser replaced',
    () => {
      for (const oid of TYPES) {
        for (const format of FORMATS) {
          types.setTypeParser(oid, format, () => 'what the application reads');
        }
      }
    },
  ],
  ['results in binary', () => (defaults['binary'] = true)],
  [
    'limits of time',
    () => Object.assign(defaults, { query_timeout: 1, statement_timeout: 1, lock_timeout: 1 }),
  ],
  [
    'other defaults',
    () =>
      Object.assign(defaults, {
        parseInt8: true,
        parseInputDatesAsUTC: true,
        client_encoding: 'latin1',
        application_name: 'shop',
        idle_in_transaction_session_timeout: 1,
        rows: 1,
      }),
  ],
];

whereThereIsPostgres('PostgreSQL with settings for the whole process', () => {
  describe('PostgreSQL with settings for the whole process', () => {
    const scene = new PostgresScene();
    const given = { ...defaults };
    const parsers = TYPES.flatMap((oid) =>
      FORMATS.map((format) => [oid, format, types.getTypeParser(oid, format)] as const),
    );
    const restore = (): void => {
      Object.assign(defaults, given);
      for (const [oid, format, parser] of parsers) types.setTypeParser(oid, format, parser);
    };

    it.each(SETTINGS)('F74: %s: all requests work', async (_, change) => {
      await skipAsciiNumbers();
      change();
      try {
        await useAll();
      } finally {
        restore();
      }
    });

    /**
     * Until the numbers of the next connections have a byte that is not ASCII: `pg` reads binary replies as text, which
     * replaces such bytes.
     */
    async function skipAsciiNumbers(): Promise<void> {
      const isFit = (number: number): boolean => (number & 0xff) >= 0x80 && (number & 0xff) < 0xc0;
      await until('the next numbers have such a byte', async () => {
        const client = await scene.client();
        const { rows } = await client.query('SELECT pg_backend_pid() AS number');
        await client.end();
        return isFit(Number(rows[0]?.['number']));
      });
    }

    async function useAll(): Promise<void> {
      // A URL that the application also uses elsewhere.
      const connection = `${scene.server.url}?query_timeout=1&statement_timeout=1`;
      const [app, other] = [
        await scene.app({ watchdogTimeout: 3_000 }),
        await scene.app({ watchdogTimeout: 3_000, options: { connection } }),
      ];
      expect(app.log.lines.filter(({ level }) => level !== 'log')).toEqual([]);
      const key = `${scene.key()} größer`;
      const handle = await app.locks.acquire(key, { label: 'import' });
      expect(handle.token).toEqual(expect.any(Number));
      const waiting = other.locks.acquire(key, { waitTime: 30_000 });
      waiting.catch(() => undefined);
      await until('it waits', async () => (await app.admin.inspect(key))?.waiting === 1);
      expect(await app.admin.inspect(key)).toMatchObject({ label: 'import', token: handle.token });
      expect((await app.admin.list({ match: `${key.slice(0, 5)}*` })).locks).toMatchObject([{ key }]);
      await app.admin.probe();
      expect(await other.locks.tryAcquire(key)).toBeNull();
      await next(app.locks.events, ({ type }) => type === 'renewed', 30_000);
      expect(handle.isHeld).toBe(true);
      expect(await handle.release()).toBe('released');
      const granted = await within(30_000, 'the lock', waiting);
      expect(granted.token).toBeGreaterThan(handle.token);
      expect(await app.admin.forceRelease(key)).toBe(true);
      await until('its holder is notified', () => !granted.isHeld);
      const failed = ['unavailable', 'renewal-failed', 'store-unavailable'];
      expect([...app.seen, ...other.seen].filter(({ type }) => failed.includes(type))).toEqual([]);
    }
  });
});
