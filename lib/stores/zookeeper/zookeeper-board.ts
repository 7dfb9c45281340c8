import type { Timer, TimerQueue } from '../../common/timer-queue.js';
import {
  LockStoreError,
  type LockBoard,
  type LockStoreClient,
  type MonotonicMs,
} from '../port/lock-store.js';
import { create, getChildren, getData, NODE, remove, setData, type Acl } from './connection/protocol.js';
import { CODE, unless } from './connection/zookeeper-failure.js';
import type { Request } from './connection/zookeeper-connection.js';
import { encoded, type LockPaths } from './layout.js';

/** Servers close the connection, on which locks depend, when a request is longer than a MiB. */
const LONGEST_TEXT = 1_000_000;

/**
 * The texts of processes: a node for each, which contains how long it lasts. Its writer deletes it then; in case that
 * process is stopped or dead, readers measure the time, too. Texts are ephemeral and end with their process. The node
 * that marks viewers is not, since one of several viewers may end. These nodes are not watched.
 */
export class ZooKeeperBoard implements LockBoard {
  private readonly watched: string;
  /** The start of the paths of texts. */
  private readonly prefix: string;
  /** The transaction that wrote a text, and since when the text has been unchanged. */
  private readonly seen = new Map<string, { readonly mzxid: number; readonly since: MonotonicMs }>();
  /** The last texts of this client, and the timers that delete them. */
  private readonly written = new Map<string, { readonly version: number; readonly end: Timer }>();

  constructor(
    private readonly request: Request,
    private readonly paths: LockPaths,
    private readonly acl: Acl,
    private readonly timers: TimerQueue,
    private readonly client: Pick<LockStoreClient, 'now'>,
  ) {
    this.watched = `${paths.clients}/watched`;
    this.prefix = `${paths.clients}/b-`;
  }

  watch(ttl: number): Promise<void> {
    return this.put(this.watched, '', ttl, NODE.persistent);
  }

  async isWatched(): Promise<boolean> {
    return (await this.textAt(this.watched)) !== undefined;
  }

  publish(name: string, text: string, ttl: number): Promise<void> {
    return this.put(this.prefix + encoded(name), text, ttl, NODE.ephemeral);
  }

  async read(): Promise<readonly string[]> {
    const { clients } = this.paths;
    const { names } = await this.request(getChildren(clients, false));
    const paths = names.map((name) => `${clients}/${name}`).filter((path) => path.startsWith(this.prefix));
    const present = new Set([this.watched, ...paths]);
    for (const path of this.seen.keys()) if (!present.has(path)) this.seen.delete(path);
    const texts: string[] = [];
    // One after the other: they may be long, and requests for locks use the same connection.
    for (const path of paths) {
      const text = await this.textAt(path);
      if (text !== undefined) texts.push(text);
    }
    return texts;
  }

  /** Deletes the texts of this client; never rejects. */
  async clear(): Promise<void> {
    const all = [...this.written];
    this.written.clear();
    await Promise.allSettled(all.map(([path, { version }]) => this.request(remove(path, version))));
  }

  private async put(path: string, text: string, ttl: number, mode: number): Promise<void> {
    const data = Buffer.from(`${ttl} ${text}`);
    if (data.length > LONGEST_TEXT) {
      throw new LockStoreError(
        `a text of ${data.length} bytes is too long for ZooKeeper, where a node may have ${LONGEST_TEXT}`,
        { inDoubt: false, retryable: false },
      );
    }
    const version = await this.write(path, data, mode);
    const earlier = this.written.get(path);
    if (earlier !== undefined) this.timers.clear(earlier.end);
    const end = this.timers.after(ttl, () => {
      this.written.delete(path);
      // Another process may have written it since. If it can't be deleted, readers ignore it anyway.
      this.request(remove(path, version)).catch(() => undefined);
    });
    this.written.set(path, { version, end });
  }

  /** Returns the new version of the node. */
  private async write(path: string, data: Uint8Array, mode: number): Promise<number> {
    const replaced = await unless(CODE.noNode, this.request(setData(path, data)));
    if (replaced !== undefined) return replaced.version;
    const created = await unless(CODE.nodeExists, this.request(create(path, data, this.acl, mode)));
    return created?.stat.version ?? (await this.request(setData(path, data))).version;
  }

  /** Undefined if there is none, or its time has passed. */
  private async textAt(path: string): Promise<string | undefined> {
    const read = await unless(CODE.noNode, this.request(getData(path, false)));
    const [, ttl, text] = /^(\d+) ([^]*)$/.exec(read?.data.toString() ?? '') ?? [];
    const isOver = read === undefined || this.isOver(path, read.stat.mzxid, Number(ttl));
    return isOver ? undefined : text;
  }

  /** Whether a text has been unchanged for its time: then that time has passed, whatever other processes' clocks say. */
  private isOver(path: string, mzxid: number, ttl: number): boolean {
    const now = this.client.now();
    const known = this.seen.get(path);
    if (known?.mzxid === mzxid) return now - known.since >= ttl;
    this.seen.set(path, { mzxid, since: now });
    return false;
  }
}
