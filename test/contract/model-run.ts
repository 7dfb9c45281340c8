import { elapse, until } from '../support/until.js';
import { LockModel, type ModelReply } from './lock-model.js';
import { PortCaller } from './port-callers.js';
import type { PortClient } from './port-client.js';

export const acts = [
  'ask',
  'ask all',
  'release',
  'release all',
  'cancel',
  'doubt',
  'late',
  'renew',
  'expire',
  'break',
] as const;

/** The next step of a run. Every step is valid in every state, so that a failing run can be cut short. */
export interface Step {
  readonly act: (typeof acts)[number];
  /** The index of the person. */
  readonly who: number;
  /** Whether to wait; or which of two variants to use. */
  readonly flag: boolean;
  /** Whether a new caller uses a conflicting limit. */
  readonly isOdd: boolean;
}

/** So long that no lease expires during a run. */
const LEASE = 20_000;
const ODD = 7;
/** A notification that is under way. Short, since shrinking a failing run repeats it many times. */
const SOON = { deadline: 2_000, every: 1 };

class Caller extends PortCaller {
  token = 0;
  isShutOut = false;
  /** The number of grants that should have been pushed to it. */
  due = 0;

  constructor(
    client: PortClient,
    key: string,
    readonly limit: number,
    readonly permits: number,
  ) {
    super(client, key, { limit, permits, lease: LEASE, claimLease: LEASE });
  }
}

/** One person, who acquires the lock again and again, each time under a new owner id (P30). */
interface Person {
  now: Caller | undefined;
  before: Caller | undefined;
}

/** Applies the same steps to a key of a store and to the model, and fails at the first difference. */
export class ModelRun {
  private readonly people: Person[] = Array.from({ length: 8 }, () => ({
    now: undefined,
    before: undefined,
  }));
  private readonly model = new LockModel<Caller>((caller) => {
    caller.due++;
    this.pushed.push(caller);
  });
  /** The callers to which the store has to push a grant in this step. */
  private readonly pushed: Caller[] = [];
  private lastToken = 0;
  /** The last token when the step began; pushes of one step arrive in any order. */
  private tokenBefore = 0;

  constructor(
    private readonly clients: readonly PortClient[],
    private readonly key: string,
    private readonly limits: readonly number[],
    private readonly permits: readonly number[],
    private readonly canBeLate: boolean,
  ) {}

  async take(step: Step): Promise<void> {
    this.tokenBefore = this.lastToken;
    const isSeen = await this.act(step);
    await this.awaitPushes();
    if (isSeen) await this.compare();
  }

  /** All leave in turn, so that every waiter has to be served. */
  async end(): Promise<void> {
    const { model } = this;
    for (let left = 0; model.holders.length + model.waiters.length > 0; left++) {
      if (left > this.people.length * 2) throw new Error('there is no end to it');
      const [holder, waiter] = [model.holders[0], model.waiters[0]];
      if (holder) await this.release(holder);
      else if (waiter) await this.acquire(waiter, true);
      await this.awaitPushes();
      await this.compare();
    }
    await this.compare();
  }

  /** Whether other clients may look immediately. */
  private async act({ act, who, flag, isOdd }: Step): Promise<boolean> {
    const person = this.personOf(who);
    const { now, before } = person;
    const isWaiting = now !== undefined && this.model.waiters.includes(now);
    switch (act) {
      case 'ask':
        person.now ??= this.newCaller(who, isOdd);
        await this.acquire(person.now, flag);
        break;
      case 'ask all':
        await this.requestAll(who % this.clients.length, isOdd);
        break;
      case 'release':
        // Waiters give up instead.
        if (now && isWaiting) await this.cancel(now, false);
        else if (now) await this.release(now);
        this.leave(person);
        break;
      case 'release all':
        await Promise.all(this.model.holders.slice().map((holder) => this.release(holder)));
        break;
      case 'cancel':
        if (now) await this.cancel(now, false);
        this.leave(person);
        break;
      case 'doubt':
        if (now && flag) await this.cancel(now, true);
        else if (now) await this.release(now, true);
        this.leave(person);
        break;
      case 'late':
        if (before?.isShutOut && this.canBeLate) await this.acquire(before, flag);
        else if (before) await this.release(before);
        break;
      case 'renew':
        if (now) await this.renew(now);
        break;
      case 'expire': {
        const holder = this.model.holders[who % this.model.holders.length];
        if (!holder) break;
        await this.renew(holder, 1);
        await elapse(3);
        this.model.expire(holder);
        // Otherwise the next request finds it.
        return flag;
      }
      case 'break':
        await this.break();
        break;
    }
    return true;
  }

  private async acquire(caller: Caller, wait: boolean): Promise<void> {
    const { holders, waiters } = this.model;
    const limits = (holders.length > 0 ? holders : waiters).map(({ limit }) => limit);
    const wasHolding = holders.includes(caller);
    const expected = this.model.acquire(caller, wait);
    const reply = await caller.acquire({ wait });
    // An excluded owner can't acquire a held lock either.
    if (expected === 'cancelled' && reply.outcome === 'busy' && limits.length > 0) return;
    switch (reply.outcome) {
      case 'granted':
        same('outcome', reply.outcome, expected);
        this.granted(caller, reply.token, wasHolding);
        break;
      case 'conflict':
        same('outcome', reply.outcome, kindOf(expected));
        if (!limits.includes(reply.limit)) throw new Error(`no caller has the limit ${reply.limit}`);
        break;
      case 'queued':
      case 'busy': {
        same('outcome', reply.outcome, expected);
        const left = reply.holderLeaseLeft ?? NaN;
        if (!(left > LEASE / 2 && left <= LEASE)) throw new Error(`the next lease ends in ${left} ms`);
        break;
      }
      default:
        same('outcome', reply.outcome, expected);
    }
  }

  /** Requests for all idle persons of one client, in one tick. Without writers, whose requests may use another path. */
  private async requestAll(client: number, isOdd: boolean): Promise<void> {
    const callers = this.people.flatMap((person, who) => {
      if (who % this.clients.length !== client || person.now) return [];
      const caller = this.newCaller(who, isOdd);
      if (caller.limit === 1) return [];
      person.now = caller;
      return [caller];
    });
    await Promise.all(callers.map((caller) => this.acquire(caller, false)));
  }

  private async release(caller: Caller, inDoubt = false): Promise<void> {
    if (inDoubt) this.shutOut(caller);
    const held = this.model.holders.includes(caller);
    if (inDoubt) this.model.cancel(caller);
    else this.model.release(caller);
    same('release', await caller.release(inDoubt), held ? 'released' : 'not-held');
  }

  private async cancel(caller: Caller, inDoubt: boolean): Promise<void> {
    if (inDoubt) this.shutOut(caller);
    this.model.cancel(caller);
    await caller.cancel(inDoubt);
  }

  private async renew(caller: Caller, exactly?: number): Promise<void> {
    const reply = await caller.renew(exactly ?? LEASE, exactly !== undefined);
    same('renewed', reply === 'renewed', this.model.holders.includes(caller));
  }

  private async break(): Promise<void> {
    const broken = this.model.break();
    const [client] = this.clients;
    same('broken', await client?.forceRelease(this.key), broken.length > 0);
    await until('they are notified', () => broken.every((caller) => caller.isBroken), SOON);
  }

  /** Before the new holders send anything else: otherwise they may learn of the grant from a reply. */
  private async awaitPushes(): Promise<void> {
    for (const caller of this.pushed.splice(0)) {
      await until('the grant is pushed', () => caller.pushes >= caller.due, SOON);
      const grant = caller.client.grants.filter(({ owner }) => owner === caller.owner).at(-1);
      this.granted(caller, grant?.token ?? NaN, false);
    }
  }

  /** A new token for every hold, larger than all before (B16). */
  private granted(caller: Caller, token: number, wasHolding: boolean): void {
    if (wasHolding) same('token', token, caller.token);
    else if (!(token > this.tokenBefore)) throw new Error(`token ${token} after ${this.tokenBefore}`);
    caller.token = token;
    this.lastToken = Math.max(this.lastToken, token);
  }

  private async compare(): Promise<void> {
    const { holders, waiters } = this.model;
    const lock = (await this.clients[0]?.lockOf(this.key)) ?? null;
    if (lock === null) {
      same('holders', 'none', holders.length === 0 ? 'none' : namesOf(holders));
      return;
    }
    const most = lock.limit;
    same('holders', namesOf(lock.holders), namesOf(holders));
    same('waiters', namesOf(lock.waiters), namesOf(waiters));
    same('limit', most, holders[0]?.limit);
    const held = lock.holders.reduce((sum, { permits }) => sum + permits, 0);
    if (held > most) throw new Error(`${held} are held of ${most}`);
    for (const [index, { token, permits }] of lock.holders.entries()) {
      same('token', token, holders[index]?.token);
      same('permits', permits, holders[index]?.permits);
    }
    for (const [index, { permits }] of lock.waiters.entries())
      same('permits', permits, waiters[index]?.permits);
    const late = holders.concat(waiters).find((caller) => caller.pushes > caller.due);
    if (late) throw new Error(`a grant was pushed to ${late.owner} that it should not have`);
  }

  private personOf(who: number): Person {
    const person = this.people[who % this.people.length];
    if (!person) throw new Error('no caller');
    return person;
  }

  private newCaller(who: number, isOdd: boolean): Caller {
    const client = this.clients[who % this.clients.length];
    const limit = isOdd ? ODD : this.limits[who % this.limits.length];
    const permits = this.permits[who % this.permits.length];
    if (!client || limit === undefined || permits === undefined) throw new Error('no caller');
    return new Caller(client, this.key, limit, limit === Infinity ? 1 : Math.min(limit, permits));
  }

  private leave(person: Person): void {
    person.before = person.now ?? person.before;
    person.now = undefined;
  }

  private shutOut(caller: Caller): void {
    caller.isShutOut = true;
    this.model.shut(caller);
  }
}

function kindOf(reply: ModelReply): string {
  return typeof reply === 'string' ? reply : 'conflict';
}

function namesOf(list: readonly { readonly owner: string }[]): string {
  return list.map(({ owner }) => owner).join(' ');
}

function same(what: string, found: unknown, expected: unknown): void {
  if (found !== expected) {
    throw new Error(`${what}: ${String(found)} instead of ${String(expected)}`);
  }
}
