import { describe, expect, it } from '@jest/globals';
import { LockOptionsError } from '../../../../lib/index.js';
import { postgresMigration, postgresStore } from '../../../../lib/stores/postgres/index.js';

/** The error for options that can't work. */
function messageOf(options: unknown): string {
  try {
    postgresStore(options as Parameters<typeof postgresStore>[0]);
  } catch (error) {
    if (error instanceof LockOptionsError) return error.message;
    throw error;
  }
  throw new Error('not rejected');
}

const connection = 'postgres://shop:s3cr3t@db:5433/shop';

describe('options of postgresStore', () => {
  it('describe the server without secrets', () => {
    expect(postgresStore({ connection }).name).toBe('PostgreSQL at db:5433/shop');
    expect(postgresStore({ connection: { host: '/run/postgresql', database: 'shop' } }).name).toBe(
      'PostgreSQL at /run/postgresql port 5432/shop',
    );
  });

  it.each([
    [{}, /connection is undefined.*set it, or write a value, such as postgresStore\(/],
    [{ connection: undefined }, /connection is undefined/],
    [null, /options must be an object; got null/],
    [{ connection: 5 }, /connection: options must be an object; got 5/],
    [
      { connection: 'redis://:s3cr3t@db' },
      /must be a URL such as 'postgres:\/\/.* does not start with postgres/,
    ],
    [{ connection: 'postgres://shop:s3cr3t@a:5432,b:5432/shop' }, /names several servers.*Give one address/],
    [{ connection: 'postgres://shop:s3cr3t@db:nan/shop' }, /could not be read. Percent-encode/],
    [{ connection: { port: 70_000 } }, /port must be a number from 1 to 65535; got 70000/],
    [
      { connection: { connect: () => undefined } },
      /give the options that the client or pool was created with/,
    ],
    [{ connection, listen: 'db:5433' }, /listen must be a URL/],
    [{ connection, schema: '' }, /schema must be the name of a schema of 1 to 63 bytes.*got ''/],
    [{ connection, schema: 'pg_locks' }, /schema must be/],
    [{ connection, schema: 'a$$b' }, /schema must be/],
    [{ connection, schema: 'x'.repeat(64) }, /schema must be/],
    [{ connection, createSchema: 'yes' }, /createSchema must be true or false; got 'yes'/],
    [{ connection, keyPrefix: 'x'.repeat(257) }, /keyPrefix must have at most 256 bytes in UTF-8; got 257/],
    [{ connection, keyPrefix: 5 }, /keyPrefix must be a well-formed string; got 5/],
    [{ connection, prefix: 'x' }, /unknown option "prefix". Known options are connection, listen, schema/],
  ])('F40: %j is rejected with a remedy', (options, message) => {
    expect(messageOf(options)).toMatch(message);
    expect(messageOf(options)).not.toContain('s3cr3t');
  });

  it('the migration is ASCII, which a database in any encoding can read', () => {
    expect(postgresMigration()).toMatch(/^[\x20-\x7e\n]+$/);
  });

  it('the migration is one statement, without what query builders replace or what ends a transaction', () => {
    const sql = postgresMigration();
    // `?`, `{name}` and `:name`, but not `::type`.
    expect(sql.match(/\?|\{\w*\}|(?<!:):\w+/g)).toBeNull();
    expect(sql.match(/^\s*(BEGIN|START|COMMIT|ROLLBACK)\b[^;\n]*;/gim)).toBeNull();
    expect(sql).toMatch(/^DO \$migration\$\n[^]*\n\$migration\$;\n$/);
    expect(sql.split('$migration$')).toHaveLength(3);
  });

  it('the migration accepts any name of a schema that PostgreSQL accepts', () => {
    expect(postgresMigration()).toContain('CREATE SCHEMA IF NOT EXISTS "distributed_lock"');
    expect(postgresMigration({ schema: 'lo"cks' })).toContain('CREATE SCHEMA IF NOT EXISTS "lo""cks"');
    expect(() => postgresMigration({ schema: '' })).toThrow(LockOptionsError);
  });
});
