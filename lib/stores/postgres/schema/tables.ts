/**
 * The tables. Times are µs of the server's clock, leases ms; a limit of 0 is any number. A hold's row vanishes with the
 * hold: only the counter of the tokens stays. The board is for people, and may be lost with the server.
 *
 * A renewal changes no indexed column, so that PostgreSQL rewrites the row in its page without touching an index.
 *
 * @param s the schema, as SQL writes it
 */
export function tables(s: string): string {
  return `
CREATE TABLE IF NOT EXISTS ${s}.holds (
  key text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  holders_limit integer NOT NULL,
  ends bigint NOT NULL,
  token bigint NOT NULL,
  since bigint NOT NULL,
  unclaimed boolean NOT NULL,
  label text NOT NULL,
  PRIMARY KEY (key, owner)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE IF NOT EXISTS ${s}.waiters (
  key text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  ticket bigint NOT NULL,
  alive_until bigint NOT NULL,
  claim_lease integer NOT NULL,
  callers integer NOT NULL,
  tokens integer NOT NULL,
  holders_limit integer NOT NULL,
  label text NOT NULL,
  PRIMARY KEY (key, owner)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE IF NOT EXISTS ${s}.tombstones (
  owner text COLLATE "C" PRIMARY KEY,
  ends bigint NOT NULL
);

CREATE UNLOGGED TABLE IF NOT EXISTS ${s}.board (
  name text COLLATE "C" PRIMARY KEY,
  content text NOT NULL,
  ends bigint NOT NULL
);

CREATE SEQUENCE IF NOT EXISTS ${s}.tokens;
`;
}
