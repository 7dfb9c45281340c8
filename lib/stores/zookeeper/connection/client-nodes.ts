import { LockStoreError } from '../../port/lock-store.js';
import type { LockPaths } from '../locks/lock-paths.js';
import { Tokens } from '../locks/tokens.js';
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
} from './operations.js';
import type { Request } from './zookeeper-connection.js';
import { CODE, isAnswer, ZooKeeperError } from './zookeeper-error.js';
import { EVENT, type SessionIdentity, type WatchEvent } from './zookeeper-socket.js';

const NOTHING = new Uint8Array();

/**
 * What a client keeps in ZooKeeper beside its locks: a mailbox, and a fence. Each connection raises the version of the
 * fence before anything else, and each request that writes names the version of its own connection: what an earlier
 * connection has sent and ZooKeeper has not carried out by then is refused whenever it arrives.
 */
export class ClientNodes {
  readonly mailbox: string;
  private fence = '';
  private version = 0;
  private mails = 0;
  private known: Tokens | undefined;
  private sessionId = '';

  constructor(
    private readonly paths: LockPaths,
    private readonly client: string,
    private readonly acl: Acl,
    private readonly reconnect: (why: string) => void,
  ) {
    this.mailbox = paths.mailboxOf(client);
  }

  /** Known when a connection is ready. */
  get tokens(): Tokens {
    if (this.known === undefined) throw new Error('no connection has been ready yet');
    return this.known;
  }

  /** The id of the session that they live with. */
  get session(): string {
    return this.sessionId;
  }

  /**
   * A connection counts as ready when this has resolved. Rejects with `no node` where the fence of a session is gone: such a
   * session has to end, since a new fence could not tell requests of this connection from those of an earlier one.
   */
  async prepare(request: Request, session: SessionIdentity): Promise<void> {
    const { paths, mailbox } = this;
    // A connection that was lost before it was ready leaves a session that is not prepared.
    const isNew = this.sessionId !== session.id;
    if (!isNew) await request(setData(this.fence, NOTHING));
    await this.createParents(request);
    if (isNew) {
      this.fence = paths.fenceOf(this.client, session.id);
      await this.createOwn(request, this.fence);
      // That of an earlier session may be there still.
      await request(remove(mailbox)).catch(unless(CODE.noNode));
    }
    if (isNew || !(await isThere(request, mailbox))) await this.createOwn(request, mailbox);
    await this.createBase(request);
    const [fence, mail, base] = await Promise.all(
      [this.fence, mailbox, paths.base, paths.locks].map((path) => request(getData(path, true))),
    );
    if (fence === undefined || mail === undefined || base === undefined) throw new Error('nothing was read');
    this.version = fence.stat.version;
    this.mails = mail.stat.version;
    const tokens = this.tokensFrom(baseIn(paths.base, base.data));
    if (tokens.fallBackAt(fence.stat.mzxid)) {
      await request(setData(paths.base, Buffer.from(String(tokens.next)), base.stat.version));
      throw new Error('the tokens of ZooKeeper have fallen back, and were raised');
    }
    this.known = tokens;
    this.sessionId = session.id;
  }

  /** Whether that is one of the nodes without which no lock is granted: the connection has to be prepared again. */
  needs({ type, path }: WatchEvent): boolean {
    const { fence, mailbox, paths } = this;
    return [fence, paths.base, paths.locks].includes(path) || (path === mailbox && type === EVENT.deleted);
  }

  /**
   * Does all of it or nothing, and nothing once the connection is over that it was made for. Answers what came of each.
   */
  async fenced(request: Request, ...parts: readonly Operation<unknown>[]): Promise<readonly unknown[]> {
    try {
      const [, ...results] = await request(multi([check(this.fence, this.version), ...parts]));
      return results;
    } catch (error) {
      if (error instanceof ZooKeeperError && error.part === 0) throw this.gone(this.fence);
      throw error;
    }
  }

  /** A node without which no lock is granted is gone, or was written by somebody else: the connection is prepared again. */
  gone(path: string, what = 'was deleted'): LockStoreError {
    this.reconnect(`${path} ${what}`);
    return new LockStoreError(
      `${path} in ZooKeeper ${what}, so that no lock is granted before the process has connected again, which it does at ` +
        'once. Leave the nodes below the path of locks to the applications that use it',
      { inDoubt: false, retryable: true },
    );
  }

  /** Reads what every grant needs, and writes nothing. */
  async verify(request: Request): Promise<void> {
    const { fence, mailbox, paths } = this;
    request(sync(paths.root)).catch(() => undefined);
    const needed = [fence, mailbox, paths.locks, paths.base];
    const [ownFence, , , base] = await Promise.all(
      needed.map((path) =>
        request(getData(path, false)).catch((error: unknown) => {
          throw isAnswer(error, CODE.noNode) ? this.gone(path) : error;
        }),
      ),
    );
    if (ownFence?.stat.version !== this.version) throw this.gone(fence, 'was written by somebody else');
    if (base === undefined || baseIn(paths.base, base.data) !== this.tokens.base) {
      throw this.gone(paths.base, 'was changed');
    }
  }

  /** Reads the mailbox and watches it: whose hold was broken; undefined if more than one may have been. */
  async readMail(request: Request): Promise<string | undefined> {
    const { data, stat } = await request(getData(this.mailbox, true));
    const isOne = stat.version === this.mails + 1;
    this.mails = stat.version;
    return isOne ? data.toString() : undefined;
  }

  private tokensFrom(base: number): Tokens {
    return this.known?.from(base) ?? new Tokens(base);
  }

  private async createParents(request: Request): Promise<void> {
    const { needed, parents } = this.paths;
    const there = await Promise.all(needed.map((path) => isThere(request, path)));
    if (!there.includes(false)) return;
    for (const path of parents) {
      await request(create(path, NOTHING, this.acl, NODE.persistent)).catch(async (error: unknown) => {
        if (isAnswer(error, CODE.nodeExists)) return;
        // A user may have been given a path below one that it may not write to.
        if (isAnswer(error, CODE.noAuth) && (await isThere(request, path))) return;
        throw error;
      });
    }
  }

  /** The fence was written just before, so that this server is not behind. */
  private async createBase(request: Request): Promise<void> {
    const { base } = this.paths;
    if (await isThere(request, base)) return;
    // Where ZooKeeper has lost its data, those before may have been ahead of the time.
    const first = Math.max(Date.now() * 1_000, this.known?.next ?? 0);
    const text = Buffer.from(String(first));
    await request(create(base, text, this.acl, NODE.persistent)).catch(unless(CODE.nodeExists));
  }

  private async createOwn(request: Request, path: string): Promise<void> {
    await request(create(path, NOTHING, this.acl, NODE.ephemeral)).catch(unless(CODE.nodeExists));
  }
}

function baseIn(path: string, data: Buffer): number {
  const text = data.toString();
  const base = /^\d+$/.test(text) ? Number(text) : NaN;
  if (Number.isSafeInteger(base)) return base;
  throw new LockStoreError(
    `${path} in ZooKeeper has to hold the number from which tokens are counted, and is ${JSON.stringify(text.slice(0, 40))}. ` +
      'Write a number there that is larger than all tokens that your data has, or delete the node: it is created again',
    { inDoubt: false, retryable: true },
  );
}

async function isThere(request: Request, path: string): Promise<boolean> {
  try {
    await request(getData(path, false));
    return true;
  } catch (error) {
    if (isAnswer(error, CODE.noNode)) return false;
    throw error;
  }
}

/** Lets an answer with that code pass. */
function unless(code: number): (error: unknown) => void {
  return (error) => {
    if (!isAnswer(error, code)) throw error;
  };
}
