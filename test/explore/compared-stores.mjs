// The model of the store beside the real scripts in a real Redis: each request and each step of time goes to both.
import { isDeepStrictEqual } from 'node:util';
import { EPOCH } from './clocked-redis.mjs';
import { RedissonModel } from './redisson-model.mjs';
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

/** The owners of two processes at Redisson's locks, with and without more tokens than are reserved while others wait. */
const REDISSON_OWNERS = Object.fromEntries(
  TWO_AND_ONE.map((owner, index) => [
    owner,
    { owner, lease: [4_000, 1_000, 3_000][index], tokens: 3 + 9 * (index % 2) },
  ]),
);

/** As {@link REQUESTS}. */
const REDISSON_REQUESTS = {
  all: /./,
  'beside Java': /takes|releases|^J:. (locks|unlocks|renews)|forces/,
  leases: /takes|woken|renews|ends soon|reserves|inspects/,
  'late requests': /takes|woken|releases|withdraw|and A:2/,
  'fair waiters of Java': /takes|releases|queue|force/,
  'local tokens': /takes|releases|reserves|locally|with a token/,
  listeners: /takes|releases|reserves|listen|inspects/,
  'broken holds': /takes|releases|break|force|locks|string/,
};

/** Each set of owners with each kind of requests. */
export const SCRIPT_SCENARIOS = {
  ...Object.fromEntries(
    Object.entries(OWNERS).flatMap(([name, owners]) =>
      Object.entries(REQUESTS).map(([kind, kinds]) => [
        `${name}, ${kind}`,
        { of: 'redis', owners, requests: requestsOf(owners, kinds) },
      ]),
    ),
  ),
  ...Object.fromEntries(
    Object.entries(REDISSON_REQUESTS).map(([kind, kinds]) => [
      `redisson, ${kind}`,
      { of: 'redisson', requests: redissonRequests(kinds) },
    ]),
  ),
};

/** A model and a store after the same events; any difference is a violation. */
class Compared {
  violations = [];

  /**
   * @param store the real scripts
   * @param model at the beginning
   * @param requests what may be asked of both, by name
   */
  constructor(store, model, { requests }) {
    this.store = store;
    this.model = model;
    this.requests = requests;
    store.now = model.now;
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
    const { model, store } = this;
    if (event.endsWith('pass')) {
      const now = model.now + Number.parseInt(event, 10);
      model.now = now;
      store.now = now;
      store.look();
    } else this.request(event);
    this.model.look();
    this.compare(this.viewOf(this.model), this.viewOf(store));
    this.compare([], store.leftForEver);
  }

  compare(modelled, found) {
    if (isDeepStrictEqual(modelled, found)) return;
    this.violations.push(`by the model ${JSON.stringify(modelled)}, by the server ${JSON.stringify(found)}`);
  }

  /** Every state is compared as a whole: there is nothing more to see at the end. */
  drain() {}
}

/** The scripts of the store `redis`. */
export class ComparedStores extends Compared {
  /**
   * @param store a `RedisStore`
   * @param scenario of {@link SCRIPT_SCENARIOS}
   * @param state of another one, to go on from there
   */
  constructor(store, scenario, { model, saved } = {}) {
    super(store, model?.copy() ?? Object.assign(new StoreModel(), { now: EPOCH }), scenario);
    this.owners = scenario.owners;
    store.load(saved, new Set(this.model.deaf), new Set(this.model.relayed));
  }

  request(event) {
    const { model, store, requests } = this;
    const before = model.copy();
    const expected = requests[event](model);
    const found = requests[event](store) ?? store.look();
    if (found?.reply.outcome === 'undecided') this.expectNothing(before, expected);
    else if (expected !== undefined) this.compareReplies(event, expected, found);
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

  viewOf({ holders, queue, tombstones, lastToken }) {
    const byOwner = (one, next) => (one.owner < next.owner ? -1 : 1);
    return {
      holders: holders.map((holder) => ({ ...holder })).sort(byOwner),
      queue: queue.map((waiter) => ({ ...waiter })),
      tombstones: Object.fromEntries([...tombstones].sort()),
      lastToken,
    };
  }

  get fingerprint() {
    const { now, queueEnds, deaf, relayed, queue } = this.model;
    const modelled = [queue.length === 0 ? 0 : queueEnds - now, [...deaf].sort(), [...relayed].sort()];
    return this.store.fingerprint + JSON.stringify(modelled);
  }
}

/** The scripts for Redisson's locks. */
export class ComparedRedisson extends Compared {
  /**
   * @param store a `RedissonStore`
   * @param scenario of {@link SCRIPT_SCENARIOS}
   * @param state of another one, to go on from there
   */
  constructor(store, scenario, { model, saved } = {}) {
    super(store, model?.copy() ?? Object.assign(new RedissonModel(), { now: EPOCH }), scenario);
    store.load(saved, new Set(this.model.listeners), this.model.localToken);
  }

  request(event) {
    const { model, store, requests } = this;
    const expected = requests[event](model);
    const found = requests[event](store) ?? store.look();
    if (expected !== undefined) this.compare(expected, found);
  }

  viewOf({ lock, lastToken, tombstones, fairQueue, listeners }) {
    const ofLock = lock && { ...lock, fields: Object.fromEntries(Object.entries(lock.fields).sort()) };
    return {
      lock: ofLock,
      lastToken,
      tombstones: Object.fromEntries([...tombstones].sort()),
      fairQueue: [...fairQueue],
      listeners: [...listeners].sort(),
    };
  }

  get fingerprint() {
    return this.store.fingerprint + JSON.stringify([...this.model.listeners].sort());
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
    requests[`${process} listens again`] = (store) => listen(store, process, false);
    requests[`${process} listens at a replica`] = (store) => listen(store, process, true);
  }
  return Object.fromEntries(Object.entries(requests).filter(([name]) => kinds.test(name)));
}

/** The next moment just before or just after something ends; never, if nothing does. */
function nextMoment({ now, ends }) {
  // Not at the very end: a key can't be restored in the millisecond of its end.
  const moments = ends.flatMap((end) => [end - 1, ends.includes(end + 1) ? end + 2 : end + 1]);
  return Math.min(...moments.filter((moment) => moment > now && !ends.includes(moment)));
}

function listen({ deaf, relayed }, process, isAtReplica) {
  deaf.delete(process);
  if (isAtReplica) relayed.add(process);
  else relayed.delete(process);
}

/** Requests of two processes and of Java, by their name in a run. */
function redissonRequests(kinds) {
  const requests = {
    'somebody inspects': (store) => store.inspect(),
    'A:1 and A:2 take': (store) => store.take(['A:1', 'A:2'].map((owner) => REDISSON_OWNERS[owner])),
    'A:1 and A:2 withdraw': (store) =>
      store.release(['A:1', 'A:2'].map((owner) => ({ owner, inDoubt: true }))),
    'force release': (store) => store.breakHold(),
    'B grants locally': (store) => void (store.localToken = (store.now + 5_000) * 1_000),
    'break the token': (store) => store.breakHold({ token: store.lastToken }),
    'break J:1': (store) => store.breakHold({ owner: 'J:1' }),
    'Java forces': (store) => store.java('forceUnlock', '', 0),
    'Java locks to read': (store) => store.java('lockToRead', 'J:9', 3_000),
    'Java makes a string': (store) => store.java('makeString', '', 3_000),
  };
  for (const each of Object.values(REDISSON_OWNERS)) {
    const { owner, lease, tokens } = each;
    Object.assign(requests, {
      [`${owner} takes`]: (store) => store.take([each]),
      [`${owner} is woken`]: (store) => store.take([{ ...each, lease: -2_000 }]),
      [`${owner} releases`]: (store) => store.release([{ owner, inDoubt: false }]),
      [`${owner} withdraws`]: (store) => store.release([{ owner, inDoubt: true }]),
      [`${owner} renews`]: (store) => store.renew({ owner, lease: lease + 2_000 }),
      [`${owner} renews briefly`]: (store) => store.renew({ owner, lease: 500 }),
      [`${owner} ends soon`]: (store) => store.renew({ owner, lease: 500, exactly: true }),
      [`${owner} reserves`]: (store) => store.reserve({ owner, lease: 0, tokens }),
      [`break ${owner}`]: (store) => store.breakHold({ owner }),
    });
  }
  for (const thread of ['J:1', 'J:2']) {
    Object.assign(requests, {
      [`${thread} locks`]: (store) => store.java('reentrantLock', thread, 3_000),
      [`${thread} locks with a token`]: (store) => store.java('fencedLock', thread, 3_000),
      [`${thread} unlocks`]: (store) => store.java('unlock', thread, 3_000),
      [`${thread} renews`]: (store) => store.java('renewLock', thread, 3_000),
      [`${thread} queues`]: (store) => store.java('queue', thread, 5_000),
      [`${thread} leaves the queue`]: (store) => store.java('leaveQueue', thread, 0),
    });
  }
  for (const client of ['A', 'B', 'J']) {
    requests[`${client} listens`] = (store) => void store.listeners.add(client);
    requests[`${client} stops listening`] = (store) => void store.listeners.delete(client);
  }
  return Object.fromEntries(Object.entries(requests).filter(([name]) => kinds.test(name)));
}
