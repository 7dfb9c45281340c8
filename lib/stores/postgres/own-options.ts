import type { PgClientOptions } from './postgres-connection.js';

/**
 * The object identifiers of the types in replies that are not texts. None is a number: with `defaults.binary`, pg decodes
 * replies as UTF-8, which damages the bytes of numbers. They are written as JSON.
 */
const BOOL = 16;
const JSON_TEXT = 114;
const JSONB = 3802;

/** pg passes a string for the format `text`, and bytes for `binary`. */
type Written = string | Buffer;

const PARSERS: Readonly<Record<number, (value: Written) => unknown>> = {
  [BOOL]: (value) => (typeof value === 'string' ? value === 't' : value[0] === 1),
  [JSON_TEXT]: (value) => JSON.parse(String(value)) as unknown,
  // The first byte is the version of the format.
  [JSONB]: (value) => JSON.parse(typeof value === 'string' ? value : value.toString('utf8', 1)) as unknown,
};

/** The longest delay of a timer, ms. */
const LONGEST = 2_147_483_647;

/**
 * Options in place of what the application sets for the whole process: `types.setTypeParser` and `defaults` of pg.
 *
 * @param defaults of pg, which takes them wherever an option is falsy
 */
export function ownOptions(defaults: Readonly<Record<string, unknown>>): PgClientOptions {
  const unlimited = (name: string): unknown => (defaults[name] ? '0' : false);
  return {
    types: { getTypeParser: (type: number) => PARSERS[type] ?? String },
    // `ReplyTimeout` closes the connection: after a timeout of pg the statement would continue.
    query_timeout: defaults['query_timeout'] ? LONGEST : 0,
    statement_timeout: unlimited('statement_timeout'),
    lock_timeout: unlimited('lock_timeout'),
    pipeline: false,
  };
}

/** Without the options in a URL that take precedence over {@link ownOptions}. */
export function withoutTimeouts(url: string | undefined): string | undefined {
  return url?.replace(/(?<=[?&])(query|statement|lock)_timeout=[^&]*&?/g, '');
}
