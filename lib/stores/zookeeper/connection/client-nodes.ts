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
import { CODE, isAnswer } from './zookeeper-error.js';
import type { SessionIdentity } from './zookeeper-socket.js';

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

  /** A connection counts as ready when this has resolved. */
  async prepare(request: Request, session: SessionIdentity): Promise<void> {
    // A connection that was lost before it was ready leaves a session that is not prepared.
    if (this.sessionId === session.id) {
      const [{ version }, { stat }] = await Promise.all([
        request(setData(this.fence, NOTHING)),
        request(getData(this.mailbox, true)),
      ]);
      this.version = version;
      this.mails = stat.version;
      return;
    }
    await this.createParents(request);
    this.known = new Tokens(await this.readBase(request));
    this.fence = this.paths.fenceOf(this.client, session.id);
    await this.createOwn(request, this.fence);
    // That of an earlier session may be there still.
    await request(remove(this.mailbox)).catch(unless(CODE.noNode));
    await this.createOwn(request, this.mailbox);
    const [{ stat: fence }, { stat: mailbox }] = await Promise.all([
      request(getData(this.fence, false)),
      request(getData(this.mailbox, true)),
    ]);
    this.version = fence.version;
    this.mails = mailbox.version;
    this.sessionId = session.id;
  }

  /** All of it or nothing, and nothing once the connection is over that it was made for. */
  fenced(...parts: readonly Operation<unknown>[]): Operation<unknown[]> {
    return multi([check(this.fence, this.version), ...parts]);
  }

  /** Reads the mailbox and watches it: whose hold was broken; undefined if more than one may have been. */
  async readMail(request: Request): Promise<string | undefined> {
    const { data, stat } = await request(getData(this.mailbox, true));
    const isOne = stat.version === this.mails + 1;
    this.mails = stat.version;
    return isOne ? data.toString() : undefined;
  }

  private async createParents(request: Request): Promise<void> {
    const { parents } = this.paths;
    const last = parents[parents.length - 1];
    if (last !== undefined && (await isThere(request, last))) return;
    for (const path of parents) {
      await request(create(path, NOTHING, this.acl, NODE.persistent)).catch(async (error: unknown) => {
        if (isAnswer(error, CODE.nodeExists)) return;
        // A user may have been given a path below one that it may not write to.
        if (isAnswer(error, CODE.noAuth) && (await isThere(request, path))) return;
        throw error;
      });
    }
  }

  private async readBase(request: Request): Promise<number> {
    const { base } = this.paths;
    // Where ZooKeeper has lost its data, those before may have been ahead of the time.
    const first = Math.max(Date.now() * 1_000, this.known?.next ?? 0);
    // A server that is behind would not know it yet.
    await request(sync(base));
    const read = async (): Promise<number> => Number((await request(getData(base, false))).data.toString());
    try {
      return await read();
    } catch (error) {
      if (!isAnswer(error, CODE.noNode)) throw error;
    }
    const text = Buffer.from(String(first));
    await request(create(base, text, this.acl, NODE.persistent)).catch(unless(CODE.nodeExists));
    return await read();
  }

  private async createOwn(request: Request, path: string): Promise<void> {
    await request(create(path, NOTHING, this.acl, NODE.ephemeral)).catch(unless(CODE.nodeExists));
  }
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
