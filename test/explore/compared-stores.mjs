// The model of the store beside the real scripts in a real Redis: each request and each step of time goes to both.
import { isDeepStrictEqual } from 'node:util';
import { EPOCH } from './clocked-redis.mjs';
import { processOf, StoreModel } from './store-model.mjs';

/** Owners with leases that end before and after a claim lease, and a waiter's time in the queue. */
const owners = (names, limits, permits = []) =>
  names.map((name, index) => ({
    owner: name,
    limit: limits[index],
    permits: permits[index] ?? 1,
    lease: index % 2 === 0 ? 4_000 : 1_000,
    tokens: limits[index] === 1 ? 2 : 4,
  }));

const TWO_AND_ONE = ['A:1', 'A:2', 'B:1'];
const ONE_AND_TWO = ['A:1', 'B:1', 'B:2'];
const TWO_EACH = ['A:1', 'A:2', 'B:1', 'B:2'];

/** Of two processes. */
const OWNERS = {
  exclusive: owners(TWO_AND_ONE, [1, 1, 1]),
  'two readers and a writer': owners(ONE_AND_TWO, [Infinity, Infinity, 1]),
  'a reader and two writers': owners(ONE_AND_TWO, [Infinity, 1, 1]),
  permits: owners(TWO_AND_ONE, [2, 2, 2]),
  'other limits': owners(TWO_AND_ONE, [1, Infinity, 2]),
  'four permits': owners(TWO_EACH, [2, 2, 2, 2]),
  'several permits': owners(TWO_EACH, [3, 3, 3, 3], [2, 1, 3, 1]),
  'several and single permits': owners(ONE_AND_TWO, [3, 3, 3], [2, 1, 1]),
  'four exclusive': owners(TWO_EACH, [1, 1, 1, 1]),
};

/** What is tried together: all of it goes wide, a part of it deep. Time passes in each. */
const REQUESTS = {
  all: /./,
  waiting: /waits|releases/,
  leases: /waits|tries|renews|ends soon|reserves|raises/,
  'late requests': /waits|takes|cancels|leaves/,
  'lost subscriptions': /waits|releases|listen/,
  'broken holds': /waits|takes|releases|break|force/,
};

/** Each set of owners with each kind of requests. */
export const SCRIPT_SCENARIOS = Object.fromEntries(
  Object.entries(OWNERS).flatMap(([name, owners]) =>
    Object.entries(REQUESTS).map(([kind, kinds]) => [
      `${name}, ${kind}`,
      { owners, requests: requestsOf(owners, kinds) },
    ]),
  ),
);

/** Both stores after the same events; any difference is a violation. */
export class ComparedStores {
  violations = [];

  /**
   * @param store a `RedisStore`
   * @param scenario of {@link SCRIPT_SCENARIOS}
   * @param state of another one, to go on from there
   */
  constructor(store, { owners, requests }, { model, saved } = {}) {
    this.store = store;
    this.owners = owners;
    this.requests = requests;
    this.model = model?.copy() ?? Object.assign(new StoreModel(), { now: EPOCH });
    store.now = this.model.now;
    store.load(saved, new Set(this.model.deaf));
  }

  get state() {
    return { model: this.model, saved: this.store.saved };
  }

  get events() {
    const events = Object.keys(this.requests);
    const left = nextMoment(this.model) - this.model.now;
    return left < Infinity ? [...events, `${left} ms pass`] : events;
  }

  apply(event) {
    const { model, store, requests } = this;
    if (event.endsWith('pass')) {
      const now = model.now + Number.parseInt(event, 10);
      model.now = now;
      store.now = now;
      store.look();
    } else {
      const before = model.copy();
      const expected = requests[event](model);
      const found = requests[event](store) ?? store.look();
      if (found?.reply.outcome === 'undecided') this.expectNothing(before, expected);
      else if (expected !== undefined) this.compareReplies(event, expected, found);
    }
    this.model.look();
    this.compare(viewOf(this.model), viewOf(store));
    this.compare([], store.leftForEver);
  }

  compareReplies(event, expected, found) {
    const { holderLeaseLeft: modelled, ...reply } = expected.reply;
    const { holderLeaseLeft: told, ...real } = found.reply;
    delete real.since;
    this.compare({ ...expected, reply }, { ...found, reply: real });
    if (modelled === undefined) return;
    const { limit, permits } = this.owners.find(({ owner }) => event.startsWith(owner));
    // Of shared holds the server keeps bounds only: no lease ends before the one, all have ended at the other. For several permits
    // it looks at all leases.
    const [least, most] = limit === 1 ? [modelled, Infinity] : [-Infinity, modelled];
    const isGood = this.model.isExclusive || permits > 1 ? told === modelled : told >= least && told <= most;
    if (!isGood) this.compare(modelled, told);
  }

  /** The quick way leaves it to `acquire`, though the lock may be free if what it has are expired holds. */
  expectNothing(before, { reply }) {
    this.model = before;
    if (reply.outcome === 'granted') this.compare('hash', this.store.saved[0].kind);
  }

  compare(modelled, found) {
    if (isDeepStrictEqual(modelled, found)) return;
    this.violations.push(`by the model ${JSON.stringify(modelled)}, by the server ${JSON.stringify(found)}`);
  }

  /** Every state is compared as a whole: there is nothing more to see at the end. */
  drain() {}

  get fingerprint() {
    const { now, queueEnds, deaf, queue } = this.model;
    const modelled = [queue.length === 0 ? 0 : queueEnds - now, [...deaf].sort()];
    return this.store.fingerprint + JSON.stringify(modelled);
  }
}

/** What it does to either store, by its name in a run. */
function requestsOf(owners, kinds) {
  const requests = { 'force release': (store) => store.breakHolds({}) };
  for (const each of owners) {
    const { owner: name } = each;
    Object.assign(requests, {
      [`${name} waits`]: (store) => store.acquire(each),
      [`${name} tries`]: (store) => store.acquire({ ...each, wait: false }),
      ...(each.limit === 1 && { [`${name} takes`]: (store) => store.take(each) }),
      [`${name} releases`]: (store) => store.release(each),
      [`${name} cancels`]: (store) => store.cancel(each),
      [`${name} leaves`]: (store) => store.cancel({ ...each, inDoubt: false }),
      [`${name} renews`]: (store) => store.renew(each),
      [`${name} renews briefly`]: (store) => store.renew({ ...each, lease: 500 }),
      [`${name} ends soon`]: (store) => store.renew({ ...each, lease: 500, exactly: true }),
      [`${name} reserves`]: (store) => store.reserve(each),
      [`${name} raises`]: (store) =>
        store.raise({
          owner: name,
          granted: store.lastToken,
          token: store.lastToken + 5,
          floor: store.lastToken + 6,
        }),
      [`break ${name}`]: (store) => store.breakHolds(each),
    });
  }
  for (const process of new Set(owners.map((each) => processOf(each.owner)))) {
    requests[`${process} stops listening`] = (store) => void store.deaf.add(process);
    requests[`${process} listens again`] = (store) => void store.deaf.delete(process);
  }
  return Object.fromEntries(Object.entries(requests).filter(([name]) => kinds.test(name)));
}

/** The next moment just before or just after something ends; never, if nothing does. */
function nextMoment(model) {
  const ends = [
    ...model.holders.map((holder) => holder.ends),
    ...model.queue.map((waiter) => waiter.aliveUntil),
    ...model.tombstones.values(),
  ];
  if (model.queue.length > 0) ends.push(model.queueEnds);
  // Not at the very end: a key can't be restored in the millisecond of its end.
  const moments = ends.flatMap((end) => [end - 1, ends.includes(end + 1) ? end + 2 : end + 1]);
  return Math.min(...moments.filter((moment) => moment > model.now && !ends.includes(moment)));
}

function viewOf({ holders, queue, tombstones, lastToken }) {
  const byOwner = (one, next) => (one.owner < next.owner ? -1 : 1);
  return {
    holders: holders.map((holder) => ({ ...holder })).sort(byOwner),
    queue: queue.map((waiter) => ({ ...waiter })),
    tombstones: Object.fromEntries([...tombstones].sort()),
    lastToken,
  };
}
