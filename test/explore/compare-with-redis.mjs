// Tries every request in every state that owners can bring a lock into, against the model of the store and against the
// real scripts in a real Redis; prints the first difference. Arguments: the URL of the server, and how many owners (1 to 4).
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { StoreModel } from './store-model.mjs';

const require = createRequire(import.meta.url);
const { RedisLockStore } = require('../../dist/cjs/stores/redis/redis-lock-store.js');

const [url, owners] = process.argv.slice(2);
const LIMITS = [1, 2, Infinity];

/** Two processes, whose owners may want any limit. */
const OWNERS = ['A:1', 'A:2', 'B:1', 'B:2'].slice(0, Number(owners));
const REQUESTS = OWNERS.flatMap((owner) => [
  ...LIMITS.map((limit) => ({ kind: 'acquire', owner, limit })),
  ...['cancel', 'release', 'reserve'].map((kind) => ({ kind, owner })),
]);

function openSession(store) {
  const id = randomUUID();
  const ignore = () => undefined;
  const client = {
    id,
    watchdogTimeout: 30_000,
    now: () => performance.now(),
    granted: ignore,
    heldByOthers: ignore,
    heldBack: ignore,
    resumes: () => true,
    broken: ignore,
    pollNow: ignore,
    reconnected: ignore,
    degraded: ignore,
    warn: ignore,
  };
  return { id, session: store.open(client) };
}

const store = new RedisLockStore(url, 'model:');
const clients = { A: openSession(store), B: openSession(store) };
await Promise.all(Object.values(clients).map(({ session }) => session.start()));
// Owners are used once (P30): each sequence has its own.
let sequences = 0;
const realOwner = (owner) => `${clients[owner[0]].id}:${sequences}${owner.slice(2)}`;
const modelOwner = (owner) => OWNERS.find((each) => realOwner(each) === owner) ?? owner;

function inModel(model, { kind, owner, limit }) {
  if (kind === 'acquire') {
    const { outcome, othersWait, limit: others } = model.acquire({ owner, limit, tokens: 1 });
    model.handOver();
    return { outcome, othersWait, limit: others };
  }
  if (kind === 'reserve') {
    const { outcome, othersWait } = model.reserve({ owner, tokens: 1 });
    return { outcome, othersWait };
  }
  if (kind === 'cancel') model.cancel(owner);
  else model.release(owner);
  return {};
}

async function inRedis(key, { kind, owner: name, limit }) {
  const owner = realOwner(name);
  const { session } = clients[name[0]];
  const lease = { lease: 30_000, isRenewed: true, claimLease: 30_000 };
  if (kind === 'acquire') {
    const request = {
      key,
      owner,
      ...lease,
      wait: true,
      callers: 1,
      tokens: 1,
      contended: true,
      limit,
      label: undefined,
    };
    const reply = await session.acquire(request);
    const { outcome } = reply;
    return {
      outcome,
      othersWait: outcome === 'granted' ? reply.othersWait === true : undefined,
      limit: outcome === 'conflict' ? reply.limit : undefined,
    };
  }
  if (kind === 'reserve') {
    const reply = await session.reserve({ key, owner, lease: 30_000, isRenewed: true, tokens: 1 });
    const outcome = reply.outcome === 'taken' ? 'gone' : reply.outcome;
    return { outcome, othersWait: reply.othersWait };
  }
  if (kind === 'cancel') await session.cancel({ key, owner, inDoubt: true });
  else await session.release({ key, owner, inDoubt: false });
  return {};
}

const stateOf = ({ holders, queue, tombstones }) =>
  JSON.stringify([
    holders.map(({ owner, limit }) => [owner, String(limit)]),
    queue.map(({ owner, limit }) => [owner, String(limit)]),
    [...tombstones].sort(),
  ]);

/** Who holds and who waits, by the store's own account. */
async function heldInRedis(key) {
  const stored = await clients.A.session.inspect(key);
  return {
    holders: (stored?.holders ?? []).map(({ owner }) => modelOwner(owner)).sort(),
    queue: (stored?.waiters ?? []).map(({ owner }) => modelOwner(owner)),
  };
}

function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

async function differenceIn(run) {
  sequences += 1;
  const key = `${clients.A.id}-${sequences}`;
  const model = new StoreModel();
  for (const request of run) {
    const expected = inModel(model, request);
    const found = await inRedis(key, request);
    if (!same(expected, found)) return { expected, found };
  }
  const expected = {
    holders: model.holders.map(({ owner }) => owner).sort(),
    queue: model.queue.map(({ owner }) => owner),
  };
  const found = await heldInRedis(key);
  // A key that is free is not inspected any further: those who wait for it would have been granted it.
  return same(expected, found) ? undefined : { expected, found };
}

const seen = new Set([stateOf(new StoreModel())]);
let level = [[]];
let depth = 0;
let difference;
while (level.length > 0 && difference === undefined) {
  depth += 1;
  const next = [];
  for (const run of level) {
    for (const request of REQUESTS) {
      if (difference !== undefined) break;
      // The limit of an owner is fixed.
      const isOther = ({ owner, limit }) =>
        owner === request.owner && limit !== undefined && limit !== request.limit;
      if (request.kind === 'acquire' && run.some(isOther)) continue;
      const longer = [...run, request];
      difference = await differenceIn(longer);
      if (difference !== undefined)
        console.log('DIFFERENCE', JSON.stringify({ run: longer, ...difference }, null, 1));
      const model = new StoreModel();
      for (const each of longer) inModel(model, each);
      const state = stateOf(model);
      if (!seen.has(state)) {
        seen.add(state);
        next.push(longer);
      }
    }
  }
  level = next;
}
await Promise.all(Object.values(clients).map(({ session }) => session.close()));
if (difference === undefined)
  console.log(`same: ${sequences} sequences, ${seen.size} states, depth ${depth}`);
process.exitCode = difference === undefined ? 0 : 1;
