import type { LockBoard } from '../../port/lock-store.js';
import type { Row, Statement } from '../connection/postgres-connection.js';
import { quoted } from '../schema/migration.js';

/** Of the mark that somebody looks: no process is called so. */
const WATCHED = '';

/** What processes leave for people: a row for each, as long as it lasts. */
export class PostgresBoard implements LockBoard {
  private readonly schema: string;

  /** @param place tells applications apart that share the schema, but no locks */
  constructor(
    schema: string,
    private readonly place: string,
    private readonly send: (statement: Statement) => Promise<readonly Row[]>,
  ) {
    this.schema = quoted(schema);
  }

  watch(ttl: number): Promise<void> {
    return this.put(WATCHED, '', ttl);
  }

  async isWatched(): Promise<boolean> {
    const { schema } = this;
    const text = `SELECT FROM ${schema}.board b WHERE b.name = $1 AND b.ends > ${schema}.clock()`;
    return (await this.send({ text, values: [this.nameOf(WATCHED)] })).length > 0;
  }

  publish(name: string, text: string, ttl: number): Promise<void> {
    return this.put(name, text, ttl);
  }

  async read(): Promise<readonly string[]> {
    const { schema } = this;
    const text = `SELECT b.content FROM ${schema}.board b
      WHERE starts_with(b.name, $1) AND b.name <> $1 AND b.ends > ${schema}.clock()`;
    const rows = await this.send({ text, values: [this.nameOf('')] });
    return rows.map(({ content }) => String(content));
  }

  private async put(name: string, content: string, ttl: number): Promise<void> {
    const { schema } = this;
    const text = `INSERT INTO ${schema}.board AS b VALUES ($1, $2, ${schema}.clock() + $3::bigint * 1000)
      ON CONFLICT (name) DO UPDATE SET content = excluded.content, ends = excluded.ends`;
    await this.send({ text, values: [this.nameOf(name), content, ttl] });
  }

  /** In quotes, so that no place is the beginning of another, and without what PostgreSQL can't have in a text. */
  private nameOf(name: string): string {
    return `${JSON.stringify(this.place)} ${name}`;
  }
}
