import type { Timer, TimerQueue } from '../../../common/timer-queue.js';
import { LockStoreError, type LockBoard, type LockStoreClient } from '../../port/lock-store.js';
import { create, getChildren, getData, NODE, remove, setData, type Acl } from '../connection/operations.js';
import type { Request } from '../connection/zookeeper-connection.js';
import { CODE, isAnswer } from '../connection/zookeeper-error.js';
import { answered } from '../connection/zookeeper-failure.js';
import { BOARD_PREFIX, type LockPaths } from '../locks/lock-paths.js';
import { SeenTexts } from './seen-texts.js';

/** Servers cut the connection, that of the locks, when they are sent more than a MiB at once. */
const LONGEST_TEXT = 1_000_000;

interface Written {
  readonly version: number;
  /** Deletes it when its time is over. */
  readonly end: Timer;
}

/**
 * What processes leave for people: a node for each, which says how long it is to last. Whoever wrote it deletes it then;
 * should that one be stopped or dead, those who read it count for themselves. Texts are ephemeral, so that they go with their
 * process. That somebody looks is not: of several who look, one may end. Nobody watches these nodes.
 */
export class ZooKeeperBoard implements LockBoard {
  private readonly seen: SeenTexts;
  private readonly written = new Map<string, Written>();

  constructor(
    private readonly request: Request,
    private readonly paths: LockPaths,
    private readonly acl: Acl,
    private readonly timers: TimerQueue,
    client: Pick<LockStoreClient, 'now'>,
  ) {
    this.seen = new SeenTexts(client);
  }

  watch(ttl: number): Promise<void> {
    return answered(() => this.put(this.paths.boardWatched, '', ttl, NODE.persistent));
  }

  isWatched(): Promise<boolean> {
    return answered(async () => (await this.textAt(this.paths.boardWatched)) !== undefined);
  }

  publish(name: string, text: string, ttl: number): Promise<void> {
    return answered(() => this.put(this.paths.boardOf(name), text, ttl, NODE.ephemeral));
  }

  read(): Promise<readonly string[]> {
    return answered(async () => {
      const { clients, boardWatched } = this.paths;
      const { names } = await this.request(getChildren(clients, false));
      const paths = names.filter((name) => name.startsWith(BOARD_PREFIX)).map((name) => `${clients}/${name}`);
      this.seen.keepOnly([boardWatched, ...paths]);
      const texts: string[] = [];
      // One after the other: they may be long, and requests of locks go over the same connection.
      for (const path of paths) {
        const text = await this.textAt(path);
        if (text !== undefined) texts.push(text);
      }
      return texts;
    });
  }

  /** Takes back what this client wrote last; never rejects. */
  async clear(): Promise<void> {
    const all = [...this.written];
    this.written.clear();
    await Promise.allSettled(all.map(([path, { version }]) => this.request(remove(path, version))));
  }

  private async put(path: string, text: string, ttl: number, mode: number): Promise<void> {
    const data = Buffer.from(`${String(ttl)} ${text}`);
    if (data.length > LONGEST_TEXT) {
      throw new LockStoreError(
        `a text of ${String(data.length)} bytes is too long for ZooKeeper, where a node may have ${String(LONGEST_TEXT)}`,
        { inDoubt: false, retryable: false },
      );
    }
    const version = await this.write(path, data, mode);
    const earlier = this.written.get(path);
    if (earlier !== undefined) this.timers.clear(earlier.end);
    const end = this.timers.after(ttl, () => {
      this.written.delete(path);
      // Somebody may have written it since. If it can't be deleted now, it is over all the same.
      this.request(remove(path, version)).catch(() => undefined);
    });
    this.written.set(path, { version, end });
  }

  /** Answers the version that it has then. */
  private async write(path: string, data: Uint8Array, mode: number): Promise<number> {
    const replace = async (): Promise<number> => (await this.request(setData(path, data))).version;
    try {
      return await replace();
    } catch (error) {
      if (!isAnswer(error, CODE.noNode)) throw error;
    }
    try {
      return (await this.request(create(path, data, this.acl, mode))).stat.version;
    } catch (error) {
      if (isAnswer(error, CODE.nodeExists)) return await replace();
      throw error;
    }
  }

  /** Undefined if there is none, or it is over. */
  private async textAt(path: string): Promise<string | undefined> {
    try {
      const { data, stat } = await this.request(getData(path, false));
      const [all = '', ttl, text] = /^(\d+) ([^]*)$/.exec(data.toString()) ?? [];
      if (all === '' || this.seen.isOver(path, stat.mzxid, Number(ttl))) return undefined;
      return text;
    } catch (error) {
      if (isAnswer(error, CODE.noNode)) return undefined;
      throw error;
    }
  }
}
