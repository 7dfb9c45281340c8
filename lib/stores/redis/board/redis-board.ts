import type { LockBoard } from '../../port/lock-store.js';
import type { ServerConnection } from '../connection/server-connection.js';

/** The names last longer than the texts, of which some may last longer than others, ms. */
const NAMES_TTL = 600_000;

/**
 * What processes leave for people, in one slot: a string for each, a set of their names, and a string that says that
 * somebody looks. All of them end by themselves.
 */
export class RedisBoard implements LockBoard {
  private readonly watched: string;

  /** @param name of the set; the others start with it */
  constructor(
    private readonly link: ServerConnection,
    private readonly name: string,
  ) {
    this.watched = `${name}:watched`;
  }

  async watch(ttl: number): Promise<void> {
    await this.link.do((redis) => redis.set(this.watched, '1', 'PX', ttl));
  }

  async isWatched(): Promise<boolean> {
    return (await this.link.do((redis) => redis.exists(this.watched))) === 1;
  }

  async publish(name: string, text: string, ttl: number): Promise<void> {
    // The set first: a name without a text is of no harm, and ends with the set.
    await this.link.do((redis) =>
      Promise.all([
        redis.zadd(this.name, 0, name),
        redis.pexpire(this.name, Math.max(ttl, NAMES_TTL)),
        redis.set(this.textName(name), text, 'PX', ttl),
      ]),
    );
  }

  async read(): Promise<readonly string[]> {
    const names = await this.link.do((redis) => redis.zrange(this.name, '0', '-1'));
    if (names.length === 0) return [];
    const texts = await this.link.doForPeople('mget', 'nobody sees what other processes tell', (redis) =>
      redis.mget(names.map((name) => this.textName(name))),
    );
    const gone = names.filter((_, index) => texts[index] === null);
    if (gone.length > 0) await this.link.do((redis) => redis.zrem(this.name, ...gone));
    return texts.filter((text) => text !== null);
  }

  private textName(name: string): string {
    return `${this.name}:of:${name}`;
  }
}
