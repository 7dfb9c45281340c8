import { inMs } from '../../../common/durations.js';
import {
  LockStoreError,
  type AskReply,
  type AskRequest,
  type Grant,
  type ListedKeys,
  type ListKeysRequest,
  type LockBoard,
  type LockStoreClient,
  type OwnerId,
  type OwnerRequest,
  type PushedGrant,
  type ReleaseReply,
  type RenewReply,
  type RenewRequest,
  type ReserveReply,
  type ReserveRequest,
  type StoreConnection,
} from '../../port/lock-store.js';
import { ForwardingSession, type WholeSession, type RenewReplies } from '../../port/forwarding-session.js';
import { Turns } from '../../port/turns.js';
import type { RedisSession } from '../redis-session.js';
import type { Replicas } from './replicas.js';
import type { ServerSession } from '../connection/server-session.js';

/**
 * Grants, renewals and reservations count only when enough replicas have them (P40): a failover to one of these then
 * keeps the lock. A grant that does not reach them in time is given back.
 */
export class ReplicatedSession extends ForwardingSession implements ServerSession {
  /** Keys of the owners that wait. */
  private readonly waiting = new Map<OwnerId, string>();
  /** One at a time for an owner: what one gives back must not be what the other has just confirmed. */
  private readonly turns = new Turns<OwnerId>();
  private readonly server: RedisSession;

  /** @param open opens the session with the server, for a client that hears of pushed grants here first */
  constructor(
    open: (client: LockStoreClient) => RedisSession,
    private readonly client: LockStoreClient,
    private readonly replicas: Replicas,
  ) {
    super();
    this.server = open({
      ...client,
      granted: (owner, grant) => {
        void this.turns.run(owner, () => this.onPush(owner, grant));
      },
      // Not before the grant that was broken, which may be waiting for replicas.
      broken: (owner) => {
        void this.turns.run(owner, () => {
          client.broken(owner);
          return Promise.resolve();
        });
      },
    });
  }

  get description(): string | undefined {
    return this.server.description;
  }

  get board(): LockBoard {
    return this.server.board;
  }

  start(): Promise<void> {
    return this.server.start();
  }

  listKeys(request: ListKeysRequest): Promise<ListedKeys> {
    return this.server.listKeys(request);
  }

  verify(): Promise<void> {
    return this.server.verify();
  }

  connections(): readonly StoreConnection[] {
    return this.server.connections();
  }

  override async ask(request: AskRequest): Promise<AskReply> {
    return await this.turns.run(request.owner, () => this.askAndConfirm(request));
  }

  override async cancel(request: OwnerRequest): Promise<void> {
    this.waiting.delete(request.owner);
    await this.server.cancel(request);
  }

  override release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    this.waiting.delete(request.owner);
    return this.server.release(request);
  }

  whenSent(): Promise<void> | undefined {
    return this.server.whenSent();
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return await this.renewed((server) => server.renew(requests));
  }

  async renewAsking(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return await this.renewed((server) => server.renewAsking(requests));
  }

  override async reserve(request: ReserveRequest): Promise<ReserveReply> {
    const { connection } = this.server;
    const reply = await this.server.reserve(request);
    if (reply.outcome === 'reserved') await this.confirm(connection);
    return reply;
  }

  async takeAll(requests: readonly AskRequest[]): Promise<readonly Grant[] | number> {
    const { connection } = this.server;
    const grants = await this.server.takeAll(requests);
    if (typeof grants !== 'number') await this.confirmOrGiveBack(requests, connection);
    return grants;
  }

  listenBy(slot: number): void {
    this.server.listenBy(slot);
  }

  close(): Promise<void> {
    return this.server.close();
  }

  protected async at<T>(_key: string, request: (server: WholeSession) => PromiseLike<T>): Promise<T> {
    return await request(this.server);
  }

  private async askAndConfirm(request: AskRequest): Promise<AskReply> {
    const { key, owner, wait } = request;
    const isKnown = this.waiting.has(owner);
    if (wait) this.waiting.set(owner, key);
    const { connection } = this.server;
    let reply: AskReply;
    try {
      reply = await this.server.ask(request);
    } catch (error) {
      // It is not in any queue, and nobody will withdraw it.
      if (!isKnown && error instanceof LockStoreError && !error.inDoubt) this.waiting.delete(owner);
      throw error;
    }
    if (reply.outcome === 'granted') {
      this.waiting.delete(owner);
      await this.confirmOrGiveBack([{ key, owner }], connection);
    }
    return reply;
  }

  private async renewed(
    request: (server: RedisSession) => Promise<readonly RenewReply[]>,
  ): Promise<RenewReplies> {
    const { connection } = this.server;
    const replies = await request(this.server);
    if (!replies.includes('renewed')) return replies;
    try {
      await this.confirm(connection);
      return replies;
    } catch (error) {
      if (!(error instanceof LockStoreError)) throw error;
      return replies.map((reply) => (reply === 'renewed' ? error : reply));
    }
  }

  private async onPush(owner: OwnerId, grant: PushedGrant): Promise<void> {
    const key = this.waiting.get(owner);
    if (key === undefined) return;
    const { connection } = this.server;
    try {
      if (!(await this.server.touch(key, owner))) return;
      await this.confirmOrGiveBack([{ key, owner }], connection);
    } catch {
      // The engine asks again by itself, and hears then why it did not get the lock.
      return;
    }
    if (this.waiting.delete(owner)) this.client.granted(owner, grant);
  }

  private async confirmOrGiveBack(
    grants: readonly Pick<OwnerRequest, 'key' | 'owner'>[],
    connection: number,
  ): Promise<void> {
    try {
      await this.confirm(connection);
    } catch (error) {
      const cancels = grants.map(({ key, owner }) => this.server.cancel({ key, owner, inDoubt: false }));
      const isBack = await Promise.all(cancels).then(
        () => true,
        () => false,
      );
      throw new LockStoreError((error as Error).message, { inDoubt: !isBack, retryable: true, cause: error });
    }
  }

  /** @param connection the one that carried what is to be confirmed: `WAIT` knows only of its own */
  private async confirm(connection: number): Promise<void> {
    const { min, timeout } = this.replicas;
    const confirmed = await this.server.replicated(min, timeout);
    if (this.server.connection !== connection) {
      throw new LockStoreError('the connection to Redis was lost before its replicas had confirmed', {
        inDoubt: true,
        retryable: true,
      });
    }
    if (confirmed >= min) return;
    throw new LockStoreError(
      `only ${String(confirmed)} of the ${String(min)} replicas that replicas.min asks for confirmed within ` +
        inMs(timeout),
      { inDoubt: false, retryable: true },
    );
  }
}
