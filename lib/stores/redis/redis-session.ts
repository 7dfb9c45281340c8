import type { RenewReplies } from '../port/forwarding-session.js';
import {
  LockStoreError,
  type AcquireReply,
  type AcquireRequest,
  type BreakReply,
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
  type StoredLock,
} from '../port/lock-store.js';
import { PushedGrants, type TimedAcquireReply } from '../port/pushed-grants.js';
import type { ServerConnector } from './connection/redis-connection.js';
import type { KeyNames } from './scripts/key-names.js';
import { ScriptBatch } from './scripts/pipeline.js';
import { BEHIND_OTHERS, leaseLeftOf, LockCalls, type ScriptCall, type TakeReply } from './scripts/scripts.js';
import { ServerSession, type ClusterPart } from './server-session.js';

/** A client's connections to one Redis server, and the requests on them. */
export class RedisSession extends ServerSession {
  protected readonly calls: LockCalls;
  /** For exclusive locks without a label. */
  private readonly takes: ScriptBatch<AcquireRequest, TakeReply, AcquireReply>;
  /** For holds that wait for their tokens. */
  private readonly reserves: ScriptBatch<ReserveRequest, ReserveReply, ReserveReply>;
  /** For later holds. */
  private readonly blocks: ScriptBatch<ReserveRequest, ReserveReply, ReserveReply>;
  private readonly releases: ScriptBatch<OwnerRequest, ReleaseReply | LockStoreError, ReleaseReply>;
  private readonly pushed: PushedGrants;

  /** @param replicas how many must confirm a grant; 0 for none */
  constructor(
    connector: ServerConnector,
    names: KeyNames,
    client: LockStoreClient,
    replicas: number,
    cluster?: ClusterPart,
  ) {
    super(connector, names, names, client, replicas, cluster);
    const { pipeline } = this;
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
    return request.inDoubt ? this.pipeline.sendNow(this.calls.cancel(request)) : this.releases.add(request);
  }

  whenSent(): Promise<void> | undefined {
    return this.pipeline.whenSent();
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return await this.pipeline.send(this.calls.renew(requests));
  }

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

  protected override onMessage(_channel: string, text: string): void {
    this.pushed.receive(text);
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
}

/** A release that failed for one lock does not affect the others. */
function released(_: OwnerRequest, reply: ReleaseReply | LockStoreError): ReleaseReply {
  if (reply instanceof LockStoreError) throw reply;
  return reply;
}
