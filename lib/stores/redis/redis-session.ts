import type {
  AskReply,
  AskRequest,
  BreakReply,
  Grant,
  ListedKeys,
  ListKeysRequest,
  LockBoard,
  LockStoreClient,
  NamedHold,
  OwnerId,
  OwnerRequest,
  RaiseRequest,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  StoreConnection,
  StoredLock,
} from '../port/lock-store.js';
import { RedisBoard } from './board/redis-board.js';
import { lockBatches, type LockBatches } from './batching/lock-batches.js';
import { GrantChannel } from './pubsub/grant-channel.js';
import type { KeyNames } from './scripts/key-names.js';
import { listKeys } from './scripts/list-keys.js';
import { LockCalls } from './scripts/lock-calls.js';
import { Pipeline } from './batching/pipeline.js';
import { PushedGrants, type TimedAskReply } from '../port/pushed-grants.js';
import type { ServerConnector } from './connection/redis-connection.js';
import type { Replicas } from './replicas/replicas.js';
import { requestTimeoutFor } from '../port/times.js';
import { BEHIND_OTHERS, leftOf, type TakeReply } from './scripts/replies.js';
import { ServerConnection } from './connection/server-connection.js';
import type { ClusterPart, ServerSession } from './connection/server-session.js';
import {
  checkRefused,
  checkReplicas,
  checkServer,
  trialOf,
  type CheckedServer,
  type CheckResult,
} from './connection/start-check.js';

/** One client's connections to one Redis server, and the requests on them. */
export class RedisSession implements ServerSession {
  readonly board: LockBoard;
  private readonly link: ServerConnection;
  private readonly pipeline: Pipeline;
  private readonly calls: LockCalls;
  private readonly batches: LockBatches;
  private readonly channel: GrantChannel;
  private readonly pushed: PushedGrants;
  private slot: number;
  private checked: CheckResult | undefined;

  constructor(
    private readonly connector: ServerConnector,
    private readonly names: KeyNames,
    private readonly client: LockStoreClient,
    private readonly replicas: Replicas | undefined,
    private readonly cluster?: ClusterPart,
  ) {
    const link = new ServerConnection(connector, requestTimeoutFor(client.watchdogTimeout), {
      back: () => {
        client.reconnected(cluster?.concerns);
        void this.check();
      },
      lost: () => {
        this.pipeline.disconnected();
        cluster?.outdated();
      },
    });
    this.link = link;
    this.board = new RedisBoard(link, names.board);
    this.pipeline = new Pipeline(link);
    this.calls = new LockCalls(names, client.id);
    const slotOf = cluster === undefined ? undefined : (key: string) => names.slotOf(key);
    this.batches = lockBatches(this.pipeline, this.calls, slotOf, (request, reply) =>
      this.taken(request, reply),
    );
    this.pushed = new PushedGrants(client);
    this.slot = cluster?.slot ?? 0;
    this.channel = new GrantChannel(
      this.channelName,
      cluster === undefined ? 'p' : 's',
      () => link.another(),
      {
        message: (text) => {
          this.pushed.receive(text);
        },
        resubscribed: () => {
          client.askAgain();
        },
        moved: () => {
          cluster?.outdated();
        },
        warn: (message) => {
          client.warn(message);
        },
      },
    );
  }

  get description(): string | undefined {
    return this.checked?.description;
  }

  /** Which connection requests go over at the moment. */
  get connection(): number {
    return this.link.count;
  }

  async start(): Promise<void> {
    await this.link.open();
    await this.check();
  }

  ask(request: AskRequest): PromiseLike<AskReply> {
    const { wait, owner, contended, limit, label } = request;
    if (wait && (contended || this.pushed.knows(owner))) {
      return this.channel.isOpen ? this.queue(request) : this.subscribeAndQueue(request);
    }
    if (limit !== 1) return this.batches.shares.add(request);
    return label === undefined ? this.batches.takes.add(request) : this.tryFirst(request);
  }

  async cancel(request: OwnerRequest): Promise<void> {
    this.pushed.forget(request.owner);
    await this.pipeline.send(this.calls.cancel(request));
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    this.pushed.forget(request.owner);
    return request.inDoubt
      ? this.pipeline.sendFirst(this.calls.cancel(request))
      : this.batches.releases.add(request);
  }

  whenSent(): Promise<void> | undefined {
    return this.pipeline.whenSent();
  }

  async renew(requests: readonly RenewRequest[]): Promise<readonly RenewReply[]> {
    return await this.pipeline.send(this.calls.renew(requests));
  }

  async renewAsking(requests: readonly RenewRequest[]): Promise<readonly RenewReply[]> {
    return await this.pipeline.sendAsking(this.calls.renew(requests));
  }

  reserve(request: ReserveRequest): PromiseLike<ReserveReply> {
    // One is for a hold that waits for it, as those of other shares do that ended in this tick.
    const { reserves, blocks } = this.batches;
    // Soon, so that the answer is here when it is needed: holds may follow each other for the rest of the tick.
    return request.tokens === 1 ? reserves.add(request) : blocks.addSoon(request);
  }

  async raise(request: RaiseRequest): Promise<void> {
    await this.pipeline.sendNow(this.calls.raise(request));
  }

  async takeAll(requests: readonly AskRequest[]): Promise<readonly Grant[] | number> {
    const replies = await this.pipeline.send(this.calls.takeAll(requests));
    const refused = replies.find((reply) => typeof reply === 'number');
    return refused ?? replies.filter((reply) => typeof reply !== 'number');
  }

  async inspect(key: string): Promise<StoredLock | null> {
    return await this.pipeline.send(this.calls.inspect(key));
  }

  async forceRelease(key: string): Promise<boolean> {
    return await this.pipeline.send(this.calls.forceRelease(key, this.channel.mode, this.slot));
  }

  async breakHold(key: string, hold: NamedHold): Promise<BreakReply> {
    return await this.pipeline.send(this.calls.breakHold(key, hold, this.channel.mode, this.slot));
  }

  listKeys(request: ListKeysRequest): Promise<ListedKeys> {
    return listKeys(this.link, this.names, request);
  }

  /** Runs each command of the scripts in a way without an effect, which the server refuses for the same reasons. */
  async verify(): Promise<void> {
    const { names, client, channel, replicas, link } = this;
    const refused = await this.pipeline.send(trialOf(names.trial(this.slot, client.id)));
    checkRefused(this.facts, channel.mode, refused);
    const { min } = replicas ?? { min: 0 };
    if (min > 0)
      await link.do((redis) => checkReplicas({ redis, address: this.facts.address, replicas: min }));
  }

  connections(): readonly StoreConnection[] {
    return this.link.connections(this.connector.address);
  }

  /** Makes a grant that another connection wrote one that this connection can wait for. False if it is gone. */
  async touch(key: string, owner: OwnerId): Promise<boolean> {
    return await this.pipeline.send(this.calls.touch({ key, owner }));
  }

  /** Waits until so many replicas have what this connection has written, or the time is over; how many have it. */
  replicated(replicas: number, timeout: number): Promise<number> {
    return this.link.do((redis) => redis.wait(replicas, timeout));
  }

  listenBy(slot: number): void {
    this.slot = slot;
    this.channel.listenOn(this.channelName);
  }

  close(): Promise<void> {
    this.channel.close();
    this.link.close();
    return Promise.resolve();
  }

  private taken(request: AskRequest, reply: TakeReply): AskReply | Promise<AskReply> {
    if (reply.token !== undefined) {
      const { token, since } = reply;
      return { outcome: 'granted', token, since, tokens: request.tokens, othersWait: false };
    }
    // Held, so that there is nothing more to find out; or free with a queue, whose head is to get it (P16).
    if (reply.ttl < -1) {
      if (reply.ttl === BEHIND_OTHERS) this.client.heldByOthers(request.owner, undefined);
      return request.wait
        ? this.subscribeAndQueue(request)
        : this.acquire(request).then(({ reply: answer }) => answer);
    }
    const holderLeaseLeft = leftOf(reply.ttl);
    if (!request.wait) return { outcome: 'busy', holderLeaseLeft };
    this.client.heldByOthers(request.owner, holderLeaseLeft);
    return this.subscribeAndQueue(request);
  }

  private async tryFirst(request: AskRequest): Promise<AskReply> {
    const { reply } = await this.acquire({ ...request, wait: false });
    if (reply.outcome !== 'busy' || !request.wait) return reply;
    this.client.heldByOthers(request.owner, reply.holderLeaseLeft);
    return await this.subscribeAndQueue(request);
  }

  /**
   * A free lock needs no subscription (P7); a held one is waited for only with one (P14). All that takes time, so whoever
   * waits was told before what is known already (B11).
   */
  private async subscribeAndQueue(request: AskRequest): Promise<AskReply> {
    const { client, channel, pushed } = this;
    const { owner } = request;
    // A place for an owner who was taken back meanwhile would be nobody's.
    const isWanted = channel.isOpen ? client.resumes(owner) : await pushed.subscribe(owner, channel);
    return isWanted ? await this.queue(request) : { outcome: 'cancelled' };
  }

  private queue(request: AskRequest): Promise<AskReply> {
    return this.pushed.ask(
      request.owner,
      () => this.acquire(request),
      () => {
        this.channel.suspect();
      },
    );
  }

  private acquire(request: AskRequest): Promise<TimedAskReply> {
    const { mode, name } = this.channel;
    return this.pipeline.send(this.calls.acquire(request, mode, name));
  }

  /** Tells the operator of what will go wrong, the first time that the server can be asked. */
  private async check(): Promise<void> {
    if (this.checked !== undefined) return;
    const { names, client, replicas, slot, link } = this;
    try {
      this.checked = await checkServer({
        ...this.facts,
        redis: link.redis,
        replicas: replicas?.min ?? 0,
        channel: this.channelName,
        trial: names.trial(slot, client.id),
        connect: () => link.another(),
      });
    } catch {
      // It went away meanwhile; there will be a next time.
      return;
    }
    if (this.checked.mode === 'a') this.channel.mode = 'a';
    for (const warning of this.checked.warnings) client.warn(warning);
  }

  private get facts(): Pick<CheckedServer, 'address' | 'user' | 'prefix' | 'used'> {
    const { connector, names, cluster, replicas } = this;
    const { address, user, database } = connector;
    const used = {
      cluster: cluster !== undefined,
      replicas: replicas !== undefined,
      database: database !== 0,
    };
    return { address, user, prefix: names.prefix, used };
  }

  private get channelName(): string {
    return this.names.channels(this.slot) + this.client.id;
  }
}
