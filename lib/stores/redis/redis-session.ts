import type { RenewReplies } from '../port/forwarding-session.js';
import {
  LockStoreError,
  type AcquireReply,
  type AcquireRequest,
  type BreakReply,
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
  type WallClockMs,
} from '../port/lock-store.js';
import { PushedGrants, type TimedAcquireReply } from '../port/pushed-grants.js';
import { ScriptBatch } from './scripts/pipeline.js';
import { BEHIND_OTHERS, leaseLeftOf, LockCalls, type TakeReply } from './scripts/scripts.js';
import { ServerSession, type WholeServerSession } from './server-session.js';

/** A client's connections to one Redis server, and the requests on them. */
export class RedisSession extends ServerSession implements WholeServerSession {
  private readonly calls = new LockCalls(this.names, this.client.id);
  /** For exclusive locks without a label. */
  private readonly takes = new ScriptBatch(
    this.pipeline,
    (requests: readonly AcquireRequest[]) => this.calls.take(requests),
    (request, reply) => this.taken(request, reply),
  );
  /** For holds that wait for their tokens. */
  private readonly reserves = new ScriptBatch(
    this.pipeline,
    (requests: readonly ReserveRequest[]) => this.calls.reserve(requests),
    (_, reply) => reply,
  );
  /** For later holds. */
  private readonly blocks = new ScriptBatch(
    this.pipeline,
    (requests: readonly ReserveRequest[]) => this.calls.reserve(requests),
    (_, reply) => reply,
  );
  private readonly releases = new ScriptBatch(
    this.pipeline,
    (requests: readonly OwnerRequest[]) => this.calls.release(requests),
    (request, reply) => this.released(request, reply),
    true,
  );
  private readonly pushed = new PushedGrants({
    ...this.client,
    granted: (owner, grant) => this.granted(owner, grant),
    broken: (owner) => this.broken(owner),
  });

  acquire(request: AcquireRequest): PromiseLike<AcquireReply> {
    const { wait, owner, contended, limit, label } = request;
    if (wait && (contended || this.pushed.knows(owner))) return this.queue(request);
    return limit === 1 && label === undefined ? this.takes.add(request) : this.tryFirst(request);
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    if (!request.wasGranted || request.inDoubt) {
      return this.cancel(request).then((reply) => this.answered(request, reply));
    }
    // An owner that waited may be in the queue that a failover leaves: its release is repeated as that of a waiter.
    const waited = this.pushed.forget(request.owner);
    return this.releases.add(waited ? { ...request, wasGranted: false } : request);
  }

  whenSent(): Promise<void> | undefined {
    return this.pipeline.whenSent();
  }

  renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return this.confirmRenewals(() => this.pipeline.send(this.calls.renew(requests)));
  }

  renewAsking(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return this.confirmRenewals(() => this.pipeline.sendAsking(this.calls.renew(requests)));
  }

  reserve(request: ReserveRequest): PromiseLike<ReserveReply> {
    // A hold waits for a single token, as may other holds that start in this tick. A block is for later holds, which
    // may start before the tick ends.
    return request.tokens === 1 ? this.reserves.add(request) : this.blocks.addSoon(request);
  }

  async raise(request: RaiseRequest): Promise<void> {
    await this.pipeline.sendNow(this.calls.raise(request));
  }

  async raiseTokens(floor: number, [key = '']: readonly string[]): Promise<void> {
    const nobody = { owner: '' as OwnerId, granted: 0, token: 0, since: 0 as WallClockMs };
    await this.raise({ key, floor, ...nobody });
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

  protected override disconnected(): void {
    this.pushed.disconnected();
  }

  /** Removes an owner in any state. */
  protected cancel(request: OwnerRequest): PromiseLike<ReleaseReply> {
    this.pushed.forget(request.owner);
    const call = this.calls.cancel(request);
    return request.wasGranted ? this.pipeline.sendNow(call) : this.pipeline.send(call);
  }

  protected override forgetMoved(concerns: (key: string) => boolean): boolean {
    return this.pushed.forgetUnless(concerns);
  }

  protected granted(owner: OwnerId, grant: PushedGrant): void {
    this.client.granted(owner, grant);
  }

  protected broken(owner: OwnerId): void {
    this.client.broken(owner);
  }

  /** A release that failed for one lock does not affect the others. */
  private released(request: OwnerRequest, reply: ReleaseReply | LockStoreError): ReleaseReply {
    if (reply instanceof LockStoreError) throw reply;
    return this.answered(request, reply);
  }

  private taken(request: AcquireRequest, reply: TakeReply): AcquireReply | Promise<AcquireReply> {
    const { owner, wait, tokens } = request;
    if (reply.token !== undefined) {
      const { token, since } = reply;
      return { outcome: 'granted', token, since, tokens, othersWait: false };
    }
    const holderLeaseLeft = leaseLeftOf(reply.ttl);
    const isHeld = reply.ttl >= -1;
    if (isHeld && !wait) return this.busyInOrder(request, { outcome: 'busy', holderLeaseLeft });
    if (isHeld || reply.ttl === BEHIND_OTHERS) this.client.heldByOthers(owner, holderLeaseLeft);
    // Where it is not simply held, only `acquire` can find out, or serve a queue in its order.
    return wait ? this.queueIfWanted(request) : this.request(request).then(({ reply: answer }) => answer);
  }

  /** The script for many locks knows neither labels nor shared locks. */
  private async tryFirst(request: AcquireRequest): Promise<AcquireReply> {
    const attempt = { ...request, wait: false };
    const { reply } = await this.request(attempt);
    if (reply.outcome !== 'busy') return reply;
    if (!request.wait) return await this.busyInOrder(attempt, reply);
    this.client.heldByOthers(request.owner, reply.holderLeaseLeft);
    return await this.queueIfWanted(request);
  }

  /** The release that a request follows may have run after it, if the server had lost the script: requests once more. */
  private async busyInOrder(request: AcquireRequest, reply: AcquireReply): Promise<AcquireReply> {
    return (await this.pipeline.isOutOfOrder()) ? (await this.request(request)).reply : reply;
  }

  /** If the owner has been cancelled meanwhile, nothing would ever withdraw its queue position. */
  private async queueIfWanted(request: AcquireRequest): Promise<AcquireReply> {
    return this.client.isWanted(request.owner) ? await this.queue(request) : { outcome: 'cancelled' };
  }

  private queue(request: AcquireRequest): Promise<AcquireReply> {
    return this.pushed.ask(
      request,
      () => this.request(request),
      () => this.channel.suspect(),
    );
  }

  private request(request: AcquireRequest): Promise<TimedAcquireReply> {
    const { mode, name } = this.channel;
    return this.pipeline.send(this.calls.acquire(request, mode, name));
  }
}
