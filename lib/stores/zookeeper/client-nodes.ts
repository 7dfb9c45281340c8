import { LockStoreError } from '../port/lock-store.js';
import { TokenBase } from '../ordered/token-base.js';
import { checkFormat } from '../port/stored-format.js';
import {
  check,
  create,
  getData,
  multi,
  NODE,
  remove,
  setData,
  sync,
  type Acl,
  type Operation,
  type Stat,
} from './connection/protocol.js';
import { CODE, hasCode, unless, ZooKeeperError } from './connection/zookeeper-failure.js';
import type { Request } from './connection/zookeeper-connection.js';
import { EVENT, type SessionIdentity, type WatchEvent } from './connection/zookeeper-socket.js';
import type { LockPaths } from './layout.js';

const NO_DATA = new Uint8Array();

/**
 * The nodes without which no lock is granted: the parents of locks, the base of tokens, and two of the client's own.
 * One receives notices of broken holds. The other is a fence: each connection raises its version first, and each
 * request that writes names that version. So a late request of an earlier connection is rejected, whenever it arrives.
 */
export class ClientNodes {
  readonly breakNotice: string;
  private fence = '';
  private fenceVersion = 0;
  private noticeVersion = 0;
  /** Each transaction has tokens; each election counts as 2^32 transactions, which is six days. */
  readonly tokens: TokenBase;
  private session = '';

  constructor(
    private readonly paths: LockPaths,
    private readonly client: string,
    private readonly acl: Acl,
    private readonly reconnect: (why: string) => void,
  ) {
    this.breakNotice = paths.breakNoticeOf(client);
    this.tokens = new TokenBase(`${paths.base} in ZooKeeper`, ', or delete the node: it is created again');
  }

  /** Whether a node belongs to the current session: those of earlier ones end with them. */
  isOfSession({ ephemeralOwner }: Stat): boolean {
    return ephemeralOwner === this.session;
  }

  /**
   * Prepares a connection for locks. Rejects with `no node` if the fence of a session is gone: that session has to end,
   * since a new fence could not distinguish requests of this connection from those of an earlier one.
   */
  async prepare(request: Request, session: SessionIdentity): Promise<void> {
    const { paths, breakNotice } = this;
    // Compared here, since a session whose first connection was lost early is not new, but not prepared either.
    const isNew = this.session !== session.id;
    if (isNew) {
      const mark = await unless(CODE.noNode, request(getData(paths.format, false)));
      checkFormat(mark?.data.toString(), `${paths.root} in ZooKeeper`, 'path');
    } else await request(setData(this.fence, NO_DATA));
    await this.createParents(request);
    if (isNew) {
      this.fence = paths.fenceOf(this.client, session.id);
      await this.createOwn(request, this.fence);
      // The one of an earlier session may still exist.
      await unless(CODE.noNode, request(remove(breakNotice)));
    }
    if (isNew || !(await isThere(request, breakNotice))) await this.createOwn(request, breakNotice);
    await this.createBase(request);
    const [fence, notice, base] = await Promise.all(
      [this.fence, breakNotice, paths.base, paths.locks].map((path) => request(getData(path, true))),
    );
    if (fence === undefined || notice === undefined || base === undefined)
      throw new Error('nothing was read');
    this.fenceVersion = fence.stat.version;
    this.noticeVersion = notice.stat.version;
    const raised = this.tokens.adopt(base.data.toString(), fence.stat.mzxid);
    // Data was lost, or a backup was restored.
    if (raised !== undefined) {
      await request(setData(paths.base, Buffer.from(raised), base.stat.version));
      throw new Error('the tokens of ZooKeeper have fallen back, and were raised');
    }
    this.session = session.id;
  }

  /** Whether the event concerns a node without which no lock is granted, so that the connection has to be prepared again. */
  needs({ type, path }: WatchEvent): boolean {
    const { fence, breakNotice, paths } = this;
    const isOfNotice = path === breakNotice && type === EVENT.deleted;
    return isOfNotice || [fence, paths.base, paths.locks].includes(path);
  }

  /** Carries out all operations or none, and none once its connection has ended. Returns their results. */
  async fenced(request: Request, ...parts: readonly Operation<unknown>[]): Promise<readonly unknown[]> {
    try {
      const [, ...results] = await request(multi([check(this.fence, this.fenceVersion), ...parts]));
      return results;
    } catch (error) {
      if (error instanceof ZooKeeperError && error.part === 0) throw this.gone(this.fence);
      throw error;
    }
  }

  /** Connects again to repair a node without which no lock is granted. Returns the error for the caller. */
  gone(path: string, what = 'was deleted'): LockStoreError {
    this.reconnect(`${path} ${what}`);
    return new LockStoreError(
      `${path} in ZooKeeper ${what}, so no lock is granted until the process has reconnected, which it does at ` +
        'once. Leave the nodes below the path of locks to the applications that use it',
      { inDoubt: false, retryable: true },
    );
  }

  /** Reads everything that grants depend on, and writes nothing. */
  async verify(request: Request): Promise<void> {
    const { fence, breakNotice, paths } = this;
    request(sync(paths.root)).catch(() => undefined);
    const [ownFence, , , base] = await Promise.all(
      [fence, breakNotice, paths.locks, paths.base].map((path) =>
        request(getData(path, false)).catch((error: unknown) => {
          throw hasCode(error, CODE.noNode) ? this.gone(path) : error;
        }),
      ),
    );
    if (ownFence?.stat.version !== this.fenceVersion) throw this.gone(fence, 'was written by another client');
    if (!this.tokens.is(base?.data.toString())) {
      throw this.gone(paths.base, 'was changed');
    }
  }

  /** Reads and watches the notice: the owner whose hold was broken; undefined if there may be several. */
  async readBreakNotice(request: Request): Promise<string | undefined> {
    const { data, stat } = await request(getData(this.breakNotice, true));
    const isOne = stat.version === this.noticeVersion + 1;
    this.noticeVersion = stat.version;
    return isOne ? data.toString() : undefined;
  }

  private async createParents(request: Request): Promise<void> {
    const { root, locks, clients } = this.paths;
    const there = await Promise.all([locks, clients].map((path) => isThere(request, path)));
    if (!there.includes(false)) return;
    const names = root.split('/').slice(1);
    const above = names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
    for (const path of [...above, locks, clients]) {
      try {
        await unless(CODE.nodeExists, request(create(path, NO_DATA, this.acl, NODE.persistent)));
      } catch (error) {
        // The user may have rights only below a path that already exists.
        if (!hasCode(error, CODE.noAuth) || !(await isThere(request, path))) throw error;
      }
    }
  }

  /** The fence was written just before, so this server is not behind. */
  private async createBase(request: Request): Promise<void> {
    const { base } = this.paths;
    if (await isThere(request, base)) return;
    const data = Buffer.from(this.tokens.first);
    await unless(CODE.nodeExists, request(create(base, data, this.acl, NODE.persistent)));
  }

  private async createOwn(request: Request, path: string): Promise<void> {
    await unless(CODE.nodeExists, request(create(path, NO_DATA, this.acl, NODE.ephemeral)));
  }
}

async function isThere(request: Request, path: string): Promise<boolean> {
  return (await unless(CODE.noNode, request(getData(path, false)))) !== undefined;
}
