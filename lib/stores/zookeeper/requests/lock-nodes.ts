import { LockStoreError, type LockStoreClient } from '../../port/lock-store.js';
import type { ClientNodes } from '../connection/client-nodes.js';
import {
  create,
  createContainer,
  getChildren,
  getData,
  NODE,
  remove,
  setData,
  sync,
  type Acl,
  type Created,
  type Operation,
  type Stat,
} from '../connection/operations.js';
import type { Request } from '../connection/zookeeper-connection.js';
import { CODE, isAnswer } from '../connection/zookeeper-error.js';
import { Line, nameFor, sequenceIn } from '../locks/line.js';
import type { LockPaths } from '../locks/lock-paths.js';
import { readPlaceData, written, type PlaceData } from '../locks/place-data.js';

/** Locks that are known to have a node; more of them are found out again. */
const MOST_KNOWN = 10_000;

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
  private readonly known = new Set<string>();
  /** Nodes that nobody wants any more, but of which it is not known that they are gone. */
  private readonly unwanted = new Set<string>();

  constructor(
    readonly client: LockStoreClient,
    readonly request: Request,
    readonly paths: LockPaths,
    readonly own: ClientNodes,
    private readonly acl: Acl,
  ) {}

  /** Whether a node lives with the present session: one of an earlier session will go by itself. */
  isOwn(stat: Stat): boolean {
    return stat.ephemeralOwner === this.own.session;
  }

  pathOf(key: string, name: string): string {
    return `${this.paths.ofKey(key)}/${name}`;
  }

  /** Adds places to lines, all in one transaction, and reads the lines right afterwards. */
  async join(places: readonly NewPlace[]): Promise<{ created: Created[]; lines: Line[] }> {
    for (let isFirst = true; ; isFirst = false) {
      try {
        const joined = await this.joinOnce(places);
        await this.checkSequences(places, joined.created);
        return joined;
      } catch (error) {
        // ZooKeeper deletes nodes of locks that nobody has used for a while.
        if (!isFirst || !isAnswer(error, CODE.noNode)) throw error;
        for (const { key } of places) this.known.delete(key);
      }
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

  /** All of them or none; undefined if one is gone. */
  async write(...places: readonly { path: string; data: PlaceData }[]): Promise<Stat | undefined> {
    const parts = places.map(({ path, data }) => setData(path, written(data)));
    try {
      const [stat] = await this.own.fenced(this.request, ...parts);
      return stat as Stat;
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
      this.unwanted.delete(path);
      return true;
    } catch (error) {
      if (!isAnswer(error, CODE.noNode)) throw error;
      this.unwanted.delete(path);
      return false;
    }
  }

  /** Deletes a node of whoever it may be; answers whether it was there, with that version if one is given. */
  async take(path: string, version?: number): Promise<boolean> {
    try {
      await this.request(remove(path, version));
      return true;
    } catch (error) {
      if (isAnswer(error, CODE.noNode, CODE.badVersion)) return false;
      throw error;
    }
  }

  /** The connection is back. */
  giveUnwanted(): void {
    for (const path of this.unwanted) this.give(path).catch(() => undefined);
  }

  /** The session has ended, and all its nodes go. */
  forget(): void {
    this.unwanted.clear();
    this.known.clear();
  }

  private async joinOnce(places: readonly NewPlace[]): Promise<{ created: Created[]; lines: Line[] }> {
    const { request, acl, known } = this;
    if (known.size > MOST_KNOWN) known.clear();
    const containers = places
      .filter(({ key }) => !known.has(key))
      .map(({ key }) => this.createContainer(key));
    const parts: Operation<Created>[] = places.map(({ key, owner, limit, data }) =>
      create(this.pathOf(key, nameFor(owner, limit)), written(data), acl, NODE.ephemeralSequential),
    );
    const joined = this.own.fenced(request, ...parts);
    const lines = places.map(({ key }) => this.line(key));
    const [outcome, ...outcomes] = await Promise.allSettled([joined, ...containers, ...lines]);
    // Where the container could not be created, that says why there is none for the place.
    if (outcome.status === 'rejected') {
      for (const { reason } of outcomes.slice(0, containers.length).filter(isRejected)) {
        throw isAnswer(reason, CODE.noNode) ? this.own.gone(this.paths.locks) : reason;
      }
    }
    const created = await joined;
    return { created: created as Created[], lines: await Promise.all(lines) };
  }

  private async checkSequences(places: readonly NewPlace[], created: readonly Created[]): Promise<void> {
    const full = places.filter((_, index) => sequenceIn(created[index]?.path ?? '') > LAST_SEQUENCE);
    if (full.length === 0) return;
    await Promise.all(created.map(({ path }) => this.give(path)));
    for (const { key } of full) {
      this.known.delete(key);
      // Those who are in line have to leave it first.
      await this.request(remove(this.paths.ofKey(key))).catch(() => undefined);
    }
    throw new LockStoreError(
      'the numbers of a line in ZooKeeper are used up; it begins anew when it is empty',
      {
        inDoubt: false,
        retryable: true,
      },
    );
  }

  private async createContainer(key: string): Promise<void> {
    try {
      await this.request(createContainer(this.paths.ofKey(key), this.acl));
    } catch (error) {
      if (!isAnswer(error, CODE.nodeExists)) throw error;
    }
    this.known.add(key);
  }
}

function isRejected(outcome: PromiseSettledResult<unknown>): outcome is PromiseRejectedResult {
  return outcome.status === 'rejected';
}
