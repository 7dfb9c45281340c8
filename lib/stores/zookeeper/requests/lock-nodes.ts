import { LockStoreError, type LockStoreClient } from '../../port/lock-store.js';
import type { ClientNodes } from '../connection/client-nodes.js';
import {
  ANY_VERSION,
  check,
  create,
  createContainer,
  exists,
  getChildren,
  getData,
  NODE,
  remove,
  setData,
  sync,
  type Acl,
  type Created,
  type Stat,
} from '../connection/operations.js';
import type { Request } from '../connection/zookeeper-connection.js';
import { CODE, isAnswer, ZooKeeperError } from '../connection/zookeeper-error.js';
import { Line, nameFor, sequenceIn } from '../locks/line.js';
import type { LockPaths } from '../locks/lock-paths.js';
import type { LockContainers } from './lock-containers.js';
import { readPlaceData, written, type PlaceData } from '../locks/place-data.js';

/** How often places are created in one request, should others create or delete the containers of their lines meanwhile. */
const MOST_ATTEMPTS = 5;

/**
 * ZooKeeper counts the places of a line in 32 bits, and those after the last of these numbers would all have the same one.
 * Here the line gets no more places, so that its node can go when it is empty, and is counted anew.
 */
const LAST_SEQUENCE = 2_000_000_000;

/** One to be created in the line of a lock. */
export interface NewPlace {
  readonly key: string;
  readonly owner: string;
  readonly limit: number;
  readonly data: PlaceData;
}

/** A place's data, and what ZooKeeper tells of its node. */
export interface ReadPlace {
  readonly data: PlaceData;
  readonly stat: Stat;
}

/** The nodes of locks: how they are created, read, written and deleted. */
export class LockNodes {
  /** Nodes that nobody wants any more, but of which it is not known that they are gone. */
  private readonly unwanted = new Set<string>();

  constructor(
    readonly client: LockStoreClient,
    readonly request: Request,
    readonly paths: LockPaths,
    readonly own: ClientNodes,
    private readonly acl: Acl,
    private readonly containers: LockContainers,
  ) {}

  /** Whether a node lives with the present session: one of an earlier session will go by itself. */
  isOwn(stat: Stat): boolean {
    return stat.ephemeralOwner === this.own.session;
  }

  pathOf(key: string, name: string): string {
    return `${this.paths.ofKey(key)}/${name}`;
  }

  /** Adds places to lines, all in one transaction, and reads the lines right afterwards. */
  async join(places: readonly NewPlace[]): Promise<{ created: readonly Created[]; lines: readonly Line[] }> {
    for (let attempt = 1; ; attempt++) {
      const joined = await this.joinOnce(places, attempt === MOST_ATTEMPTS);
      if (joined === undefined) continue;
      await this.checkSequences(places, joined.created);
      return joined;
    }
  }

  /** @param isFresh whether it has to be no older than what was committed before */
  async line(key: string, { isFresh = false, watch = false } = {}): Promise<Line> {
    const path = this.paths.ofKey(key);
    if (isFresh) this.request(sync(path)).catch(() => undefined);
    try {
      const { names, stat } = await this.request(getChildren(path, watch));
      return new Line(names, stat.pzxid);
    } catch (error) {
      if (isAnswer(error, CODE.noNode)) return new Line([], 0);
      throw error;
    }
  }

  /** Of all nodes of locks. */
  async names(): Promise<readonly string[]> {
    const { locks } = this.paths;
    this.request(sync(locks)).catch(() => undefined);
    try {
      return (await this.request(getChildren(locks, false))).names;
    } catch (error) {
      if (isAnswer(error, CODE.noNode)) return [];
      throw error;
    }
  }

  /** Undefined if it is gone. */
  async read(path: string, watch = false): Promise<ReadPlace | undefined> {
    try {
      const { data, stat } = await this.request(getData(path, watch));
      return { data: readPlaceData(data), stat };
    } catch (error) {
      if (isAnswer(error, CODE.noNode)) return undefined;
      throw error;
    }
  }

  /** Whether a node of a place is there; if so, the session hears once when it goes, and of nothing before. */
  async watchEnd(path: string): Promise<boolean> {
    try {
      // It has no children. A watch of its data would fire at each write.
      await this.request(getChildren(path, true));
      return true;
    } catch (error) {
      if (isAnswer(error, CODE.noNode)) return false;
      throw error;
    }
  }

  /**
   * All of them or none; undefined if one is gone. Of a place without data it is only checked that it is there.
   *
   * @returns the stat of the first, if it was written
   */
  async write(
    ...places: readonly { path: string; data: PlaceData | undefined }[]
  ): Promise<{ readonly stat: Stat | undefined } | undefined> {
    const parts = places.map(({ path, data }) =>
      data === undefined ? check(path, ANY_VERSION) : setData(path, written(data)),
    );
    try {
      const [stat] = await this.own.fenced(this.request, ...parts);
      return { stat: stat as Stat | undefined };
    } catch (error) {
      if (isAnswer(error, CODE.noNode)) return undefined;
      throw error;
    }
  }

  /** Deletes a node that this client wants no more; answers whether it was there. If it fails, it is done when it can be. */
  async give(path: string): Promise<boolean> {
    this.unwanted.add(path);
    try {
      await this.request(remove(path));
      this.gone(path);
      return true;
    } catch (error) {
      if (!isAnswer(error, CODE.noNode)) throw error;
      this.gone(path);
      return false;
    }
  }

  /** Deletes a node of any client; answers whether it was there. */
  async take(path: string): Promise<boolean> {
    try {
      await this.request(remove(path));
      this.containers.leave(containerOf(path));
      return true;
    } catch (error) {
      if (isAnswer(error, CODE.noNode)) return false;
      throw error;
    }
  }

  /** Deletes a node of any client whose lease has ended, unless it was written since. */
  async end(path: string, version: number): Promise<void> {
    // Most are gone by now, and a delete that fails is a transaction, too.
    if ((await this.statOf(path))?.version !== version) return;
    await this.request(remove(path, version));
    this.containers.leave(containerOf(path));
  }

  /** Undefined if it is not there. */
  async statOf(path: string): Promise<Stat | undefined> {
    try {
      return await this.request(exists(path));
    } catch (error) {
      if (isAnswer(error, CODE.noNode)) return undefined;
      throw error;
    }
  }

  /**
   * Whether a hold with that lease lasts as long as its session: that ends soon enough after its process has died, also for
   * callers who come only then. Waiters measure shorter leases.
   */
  isKept(lease: number): boolean {
    return lease >= this.client.watchdogTimeout;
  }

  /** The connection is back. */
  giveUnwanted(): void {
    for (const path of this.unwanted) this.give(path).catch(() => undefined);
  }

  /** The session has ended, and all its nodes go. */
  forget(): void {
    this.unwanted.clear();
    this.containers.leaveAll();
  }

  private gone(path: string): void {
    this.unwanted.delete(path);
    this.containers.leave(containerOf(path));
  }

  /**
   * Undefined if it has to be tried again.
   *
   * @param isLast whether it throws instead
   */
  private async joinOnce(
    places: readonly NewPlace[],
    isLast: boolean,
  ): Promise<{ created: readonly Created[]; lines: readonly Line[] } | undefined> {
    const { request, acl, containers, paths } = this;
    const all = places.map(({ key }) => paths.ofKey(key));
    // In the same transaction: servers keep a container that never had a child for good.
    const missing = all.filter((path) => !containers.has(path));
    const parts = places.map(({ key, owner, limit, data }) =>
      create(this.pathOf(key, nameFor(owner, limit)), written(data), acl, NODE.ephemeralSequential),
    );
    const joined = this.own.fenced(request, ...missing.map((path) => createContainer(path, acl)), ...parts);
    const reading = places.map(({ key }) => this.line(key));
    const [outcome, ...lines] = await Promise.allSettled([joined, ...reading]);
    if (outcome.status === 'fulfilled') {
      for (const path of all) containers.joined(path);
      const created = outcome.value.slice(missing.length) as readonly Created[];
      return { created, lines: await Promise.all(reading) };
    }
    const error: unknown = outcome.reason;
    if (!(error instanceof ZooKeeperError) || isLast) throw error;
    // The first part is the fence.
    const isOfContainer = error.part !== undefined && error.part <= missing.length;
    if (isOfContainer && error.code === CODE.noNode) throw this.own.gone(paths.locks);
    // Somebody else has created or deleted containers.
    const changed = lines.filter(
      (line, index) =>
        line.status === 'fulfilled' && containers.found(all[index] ?? '', line.value.changedAt > 0),
    );
    if (changed.length === 0 && !isAnswer(error, CODE.noNode, CODE.nodeExists)) throw error;
    return undefined;
  }

  private async checkSequences(places: readonly NewPlace[], created: readonly Created[]): Promise<void> {
    const full = places.filter((_, index) => sequenceIn(created[index]?.path ?? '') > LAST_SEQUENCE);
    if (full.length === 0) return;
    await Promise.all(created.map(({ path }) => this.give(path)));
    // Those who are in line have to leave it first.
    await Promise.all(
      full.map(({ key }) => this.request(remove(this.paths.ofKey(key))).catch(() => undefined)),
    );
    throw new LockStoreError(
      'the numbers of a line in ZooKeeper are used up; it begins anew when it is empty',
      {
        inDoubt: false,
        retryable: true,
      },
    );
  }
}

/** In which a place is. */
function containerOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
