import type { RenewReplies, WholeSession } from '../port/forwarding-session.js';
import {
  LockStoreError,
  type AcquireReply,
  type AcquireRequest,
  type BreakReply,
  type ListedKeys,
  type ListKeysRequest,
  type LockBoard,
  type LockStoreClient,
  type NamedHold,
  type OwnerId,
  type OwnerRequest,
  type PushedGrant,
  type RaiseRequest,
  type ReleaseReply,
  type RenewRequest,
  type ReserveReply,
  type ReserveRequest,
  type StoreConnection,
  type StoredLock,
} from '../port/lock-store.js';
import { PushedGrants, type TimedAcquireReply } from '../port/pushed-grants.js';
import { requestTimeoutFor } from '../port/times.js';
import type { ServerConnector } from './connection/redis-connection.js';
import { ServerConnection } from './connection/server-connection.js';
import {
  checkedServer,
  checkRejected,
  checkReplicas,
  checkServer,
  permissionTrial,
  type CheckedServer,
  type CheckResult,
} from './doctor/server-checks.js';
import { GrantChannel } from './grant-channel.js';
import { listKeys, redisBoard } from './operator-requests.js';
import type { KeyNames } from './scripts/key-names.js';
import { Pipeline, ScriptBatch } from './scripts/pipeline.js';
import { BEHIND_OTHERS, leaseLeftOf, LockCalls, type ScriptCall, type TakeReply } from './scripts/scripts.js';

/** Additional properties of a server in a cluster. */
export interface ClusterPart {
  /** Its lowest slot, which is part of its channel names. */
  readonly slot: number;
  /** Whether the server has the slot of a key. */
  readonly concerns: (key: string) => boolean;
  /** The slot map may be outdated. */
  outdated(): void;
}

/** A client's connections to one Redis server, and the requests on them. */
export class RedisSession implements WholeSession {
  readonly board: LockBoard;
  protected readonly link: ServerConnection;
  protected readonly pipeline: Pipeline;
  protected readonly calls: LockCalls;
  /** For exclusive locks without a label. */
  private readonly takes: ScriptBatch<AcquireRequest, TakeReply, AcquireReply>;
  /** For holds that wait for their tokens. */
  private readonly reserves: ScriptBatch<ReserveRequest, ReserveReply, ReserveReply>;
  /** For later holds. */
  private readonly blocks: ScriptBatch<ReserveRequest, ReserveReply, ReserveReply>;
  private readonly releases: ScriptBatch<OwnerRequest, ReleaseReply | LockStoreError, ReleaseReply>;
  private readonly channel: GrantChannel;
  private readonly pushed: PushedGrants;
  private slot: number;
  private checked: CheckResult | undefined;

  /** @param replicas how many must confirm a grant; 0 for none */
  constructor(
    connector: ServerConnector,
    private readonly names: KeyNames,
    protected readonly client: LockStoreClient,
    private readonly replicas: number,
    private readonly cluster?: ClusterPart,
  ) {
    this.slot = cluster?.slot ?? 0;
    const link = new ServerConnection(connector, requestTimeoutFor(client.watchdogTimeout), {
      back: () => {
        client.reconnected(cluster?.concerns);
        this.channel.open();
        void this.check();
      },
      lost: () => {
        this.pipeline.disconnected();
        cluster?.outdated();
      },
    });
    this.link = link;
    this.board = redisBoard(link, names.board);
    const pipeline = (this.pipeline = new Pipeline(link));
    const calls = (this.calls = new LockCalls(names, client.id));
    const slotOf = cluster === undefined ? undefined : (key: string) => names.slotOf(key);
    this.takes = new ScriptBatch(
      pipeline,
      slotOf,
      (requests) => calls.take(requests),
      (request, reply) => this.taken(request, reply),
    );
    const reserve = (requests: readonly ReserveRequest[]): ScriptCall<ReserveReply[]> =>
      calls.reserve(requests);
    this.reserves = new ScriptBatch(pipeline, slotOf, reserve, (_, reply) => reply);
    this.blocks = new ScriptBatch(pipeline, slotOf, reserve, (_, reply) => reply);
    this.releases = new ScriptBatch(pipeline, slotOf, (requests) => calls.release(requests), released, true);
    this.pushed = new PushedGrants({
      ...client,
      granted: (owner, grant) => {
        this.granted(owner, grant);
      },
      broken: (owner) => {
        this.broken(owner);
      },
    });
    this.channel = new GrantChannel(
      this.channelName,
      cluster === undefined ? 'p' : 's',
      link,
      client,
      (text) => {
        this.pushed.receive(text);
      },
      () => cluster?.outdated(),
    );
  }

  get description(): string | undefined {
    return this.checked?.description;
  }

  get isCutOff(): boolean {
    return !this.link.isReady;
  }

  async start(): Promise<void> {
    await this.link.open();
    this.channel.open();
    await this.check();
  }

  acquire(request: AcquireRequest): PromiseLike<AcquireReply> {
    const { wait, owner, contended, limit, label } = request;
    if (wait && (contended || this.pushed.knows(owner))) return this.queue(request);
    return limit === 1 && label === undefined ? this.takes.add(request) : this.tryFirst(request);
  }

  async cancel(request: OwnerRequest): Promise<void> {
    this.pushed.forget(request.owner);
    await this.pipeline.send(this.calls.cancel(request));
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    this.pushed.forget(request.owner);
    return request.inDoubt ? this.pipeline.sendFirst(this.calls.cancel(request)) : this.releases.add(request);
  }

  whenSent(): Promise<void> | undefined {
    return this.pipeline.whenSent();
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return await this.pipeline.send(this.calls.renew(requests));
  }

  /** Renews locks whose slot is moving to this server. */
  async renewAsking(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return await this.pipeline.sendAsking(this.calls.renew(requests));
  }

  reserve(request: ReserveRequest): PromiseLike<ReserveReply> {
    // A hold waits for a single token, as may other holds that start in this tick. A block is for later holds, which
    // may start before the tick ends.
    return request.tokens === 1 ? this.reserves.add(request) : this.blocks.addSoon(request);
  }

  async raise(request: RaiseRequest): Promise<void> {
    await this.pipeline.sendNow(this.calls.raise(request));
  }

  async inspect(key: string): Promise<StoredLock | null> {
    return await this.pipeline.send(this.calls.inspect(key));
  }

  async breakHold(key: string, hold?: NamedHold): Promise<BreakReply> {
    return await this.pipeline.send(this.calls.breakHold(key, hold, this.channel.mode, this.slot));
  }

  listKeys(request: ListKeysRequest): Promise<ListedKeys> {
    return listKeys(this.link, this.names, request);
  }

  /** Runs the commands of the scripts without an effect: the server rejects these for the same reasons. */
  async verify(): Promise<void> {
    const server = this.checkedServer();
    const rejected = await this.pipeline.send(permissionTrial(server));
    checkRejected(server, this.channel.mode, rejected);
    if (this.replicas > 0) await this.link.do(() => checkReplicas(server));
  }

  connections(): readonly StoreConnection[] {
    return this.link.connections();
  }

  /** Names the channels after another slot of the server. */
  listenBy(slot: number): void {
    this.slot = slot;
    this.channel.listenOn(this.channelName);
  }

  close(): Promise<void> {
    this.channel.close();
    this.link.close();
    return Promise.resolve();
  }

  protected granted(owner: OwnerId, grant: PushedGrant): void {
    this.client.granted(owner, grant);
  }

  protected broken(owner: OwnerId): void {
    this.client.broken(owner);
  }

  private taken(request: AcquireRequest, reply: TakeReply): AcquireReply | Promise<AcquireReply> {
    if (reply.token !== undefined) {
      const { token, since } = reply;
      return { outcome: 'granted', token, since, tokens: request.tokens, othersWait: false };
    }
    // Not simply held: only `acquire` can find out, or serve a queue in its order.
    if (reply.ttl < -1) {
      if (reply.ttl === BEHIND_OTHERS) this.client.heldByOthers(request.owner, undefined);
      return request.wait
        ? this.queueIfWanted(request)
        : this.request(request).then(({ reply: answer }) => answer);
    }
    const holderLeaseLeft = leaseLeftOf(reply.ttl);
    if (!request.wait) return { outcome: 'busy', holderLeaseLeft };
    this.client.heldByOthers(request.owner, holderLeaseLeft);
    return this.queueIfWanted(request);
  }

  /** The script for many locks knows neither labels nor shared locks. */
  private async tryFirst(request: AcquireRequest): Promise<AcquireReply> {
    const { reply } = await this.request({ ...request, wait: false });
    if (reply.outcome !== 'busy' || !request.wait) return reply;
    this.client.heldByOthers(request.owner, reply.holderLeaseLeft);
    return await this.queueIfWanted(request);
  }

  /** If the owner has been cancelled meanwhile, nothing would ever withdraw its queue position. */
  private async queueIfWanted(request: AcquireRequest): Promise<AcquireReply> {
    return this.client.isWanted(request.owner) ? await this.queue(request) : { outcome: 'cancelled' };
  }

  private queue(request: AcquireRequest): Promise<AcquireReply> {
    return this.pushed.ask(
      request.owner,
      () => this.request(request),
      () => {
        this.channel.suspect();
      },
    );
  }

  private request(request: AcquireRequest): Promise<TimedAcquireReply> {
    const { mode, name } = this.channel;
    return this.pipeline.send(this.calls.acquire(request, mode, name));
  }

  /** Warns the operator of foreseeable problems, once, as soon as the server is reached. */
  private async check(): Promise<void> {
    if (this.checked !== undefined && this.checked.refusal === undefined) return;
    try {
      this.checked = await this.link.watch.during(checkServer(this.checkedServer()));
    } catch {
      // The connection was lost. The check runs again after the next one.
      return;
    }
    if (this.checked.refusal !== undefined) this.link.refusal = this.checked.refusal;
    if (this.checked.mode === 'a') this.channel.mode = 'a';
    for (const warning of this.checked.warnings) this.client.warn(warning);
  }

  private checkedServer(): CheckedServer {
    const slot = this.cluster === undefined ? undefined : this.slot;
    return checkedServer(this.link, this.names, this.client.id, this.replicas, slot);
  }

  private get channelName(): string {
    return this.names.channels(this.slot) + this.client.id;
  }
}

/** A release that failed for one lock does not affect the others. */
function released(_: OwnerRequest, reply: ReleaseReply | LockStoreError): ReleaseReply {
  if (reply instanceof LockStoreError) throw reply;
  return reply;
}
