import { agree, SharingWitness } from '../support/sharing-witness.js';

/** Shared holds granted together become known within this time, ms, in addition to message delays. */
const SAME_TIME = 5;

/** One call of a run and its outcome. Moments are counted, so no two events have the same one; times are in ms. */
export interface Call {
  /** Number of the application. */
  readonly app: number;
  readonly limit: number;
  readonly permits: number;
  readonly holdAtLeast: number;
  /** Whether it waits until it is served, unless its signal aborts it. */
  readonly isPatient: boolean;
  /** Whether it waits in the queue at all. */
  readonly isQueued: boolean;
  readonly calledAt: number;
  grantedAt: number;
  grantedTime: number;
  token: number;
  /** When it began to release, or had given up. */
  endedAt: number;
  endedTime: number;
  /** When the store had replied to its release. */
  releasedAt: number;
  outcome: 'waits' | 'holds' | 'released' | 'lost' | 'gave up' | 'refused' | 'conflict' | 'closed';
}

/** The time between two moments. */
export interface Span {
  readonly from: number;
  to: number;
}

/** What was observed of one key, without knowledge of the implementation. Each check returns its findings as lines. */
export class CallHistory {
  readonly calls: Call[] = [];
  /** From a forced release until every application knows of it. */
  readonly breaks: Span[] = [];
  /** Requests, from their call to their reply, that leave something at the store for a call with this limit, or remove it. */
  readonly requests: (Span & { readonly limit: number })[] = [];
  /** Quiet periods: every earlier request has reached the store. */
  readonly lulls: Span[] = [];
  private moments = 0;

  now(): number {
    return (this.moments += 1);
  }

  /** A request for a call with this limit is sent. The returned function is called at its reply. */
  requested(limit: number): () => void {
    const span = { limit, from: this.now(), to: Infinity };
    this.requests.push(span);
    return () => {
      span.to = this.now();
    };
  }

  get served(): readonly Call[] {
    return this.calls.filter(({ outcome }) => outcome === 'released');
  }

  /** Mutual exclusion, checked on the holds that are certain. */
  exclusion(): readonly string[] {
    const witness = new SharingWitness();
    const steps = this.certain.flatMap(({ limit, permits, grantedAt, endedAt }) => [
      { at: grantedAt, step: () => witness.enter(limit, permits) },
      { at: endedAt, step: () => witness.leave(limit, permits) },
    ]);
    for (const { step } of steps.sort((one, other) => one.at - other.at)) step();
    return witness.findings;
  }

  /** B16: tokens grow with each hold. Tokens of shared holds that may overlap only have to differ. */
  tokens(areUnique: boolean): readonly string[] {
    const found: string[] = [];
    const byGrant = [...this.certain].sort((one, other) => one.grantedAt - other.grantedAt);
    for (const [index, call] of byGrant.entries()) {
      for (const before of byGrant.slice(0, index)) {
        const isOrdered = call.limit === 1 || before.limit === 1;
        if (isOrdered ? call.token > before.token : call.token !== before.token || !areUnique) continue;
        found.push(`token ${call.token} (limit ${call.limit}) after ${before.token} (limit ${before.limit})`);
      }
    }
    return found;
  }

  /** P10: callers of one application are served in the order of their calls. */
  orderInApps(): readonly string[] {
    return this.queued.flatMap((call) =>
      this.queued
        .filter((before) => before.app === call.app && before.calledAt < call.calledAt)
        .filter((before) => isBefore(call, before))
        .map((before) => `in app ${call.app} ${call.calledAt} was served before ${before.calledAt}`),
    );
  }

  /**
   * P26: the first caller of its application whose queue position existed before another application's caller arrived
   * is served before that caller.
   */
  orderOverApps(): readonly string[] {
    return this.queued.flatMap((call) => {
      const lull = this.lulls.filter(({ to }) => to < call.calledAt).at(-1);
      if (lull === undefined) return [];
      return this.firstAt(lull.from)
        .filter(({ app, endedAt }) => app !== call.app && endedAt > call.calledAt)
        .filter((first) => isBefore(call, first))
        .map((first) => `${call.calledAt} of app ${call.app} overtook ${first.calledAt} of app ${first.app}`);
    });
  }

  /** With `holdAtLeast` the lock stays unavailable until the minimum hold ends. */
  minimum(): readonly string[] {
    const after = ({ grantedAt, grantedTime, holdAtLeast }: Call): readonly Call[] =>
      this.calls.filter(
        (call) => call.grantedAt > grantedAt && call.grantedTime < grantedTime + holdAtLeast - 3,
      );
    return this.certain
      .filter(({ limit, holdAtLeast }) => limit === 1 && holdAtLeast > 0)
      .flatMap((call) => after(call).map((next) => `${next.calledAt} came too early after ${call.calledAt}`));
  }

  /** The longest time for which the lock was free although a caller waited for it, ms. */
  longestGap(): number {
    let longest = 0;
    for (const call of this.calls) {
      if (!call.isPatient || call.outcome !== 'released') continue;
      const before = this.calls.filter(({ grantedAt }) => grantedAt < call.grantedAt);
      const freeSince = Math.max(
        ...before.map(({ grantedTime, holdAtLeast, endedTime }) =>
          Math.max(endedTime, grantedTime + holdAtLeast),
        ),
        -Infinity,
      );
      const isOverlapped = before.some(({ endedAt }) => endedAt > call.grantedAt);
      const wasWaiting = before.some(({ endedAt }) => endedAt > call.calledAt);
      if (!isOverlapped && wasWaiting) longest = Math.max(longest, call.grantedTime - freeSince);
    }
    return longest;
  }

  /** Waiters that were never served. */
  forgotten(): readonly string[] {
    return this.calls
      .filter(({ isPatient, outcome }) => outcome === 'waits' || (isPatient && outcome === 'refused'))
      .map(({ app, calledAt, outcome }) => `${calledAt} of app ${app}: ${outcome}`);
  }

  /**
   * Callers rejected for their limit although no caller with another one was there, and no request of one was pending: a
   * process can't withdraw what it has requested for a former caller before it has the reply.
   *
   * @param isDecidedByVotes whether of two conflicting callers each may be first at some servers, and both be rejected
   */
  unfounded(isDecidedByVotes: boolean): readonly string[] {
    const rejected = this.calls.filter(({ outcome }) => outcome === 'conflict');
    const others = this.calls.filter((other) => isDecidedByVotes || !rejected.includes(other));
    return rejected
      .filter((call) => !others.some((other) => isReasonFor(other, call)))
      .filter(({ limit, calledAt, endedAt }) => {
        const pending = this.requests.filter((span) => meet(span, calledAt, endedAt));
        return pending.every((request) => agree(request.limit, limit));
      })
      .map(({ app, calledAt, limit }) => `${calledAt} of app ${app} with limit ${limit}`);
  }

  private get certain(): readonly Call[] {
    return this.served.filter((call) => !this.breaks.some((span) => meet(span, call.calledAt, call.endedAt)));
  }

  private get queued(): readonly Call[] {
    return this.certain.filter(({ isQueued }) => isQueued);
  }

  /** The first waiter of each application at a moment. A call with `maxWaiting` may not be queued. */
  private firstAt(moment: number): readonly Call[] {
    const firsts = new Map<number, Call>();
    for (const call of this.calls) {
      const isThere = call.calledAt < moment && Math.min(call.grantedAt, call.endedAt) > moment;
      if (isThere && !firsts.has(call.app)) firsts.set(call.app, call);
    }
    return [...firsts.values()].filter((first) => this.queued.includes(first));
  }
}

/** Whether one began before the other. Holds that may overlap have no observable order within a moment. */
function isBefore(one: Call, other: Call): boolean {
  if (one.limit === 1 || other.limit === 1) return one.grantedAt < other.grantedAt;
  return one.grantedTime + SAME_TIME < other.grantedTime;
}

/** Whether one call may have been rejected because the other held the lock or waited for it; a cancelled request may come later. */
function isReasonFor(other: Call, call: Call): boolean {
  if (agree(other.limit, call.limit) || other.calledAt > call.endedAt) return false;
  return other.outcome !== 'released' || other.releasedAt > call.calledAt;
}

function meet(span: Span, from: number, to: number): boolean {
  return span.from < to && from < span.to;
}
