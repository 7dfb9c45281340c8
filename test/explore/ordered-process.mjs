// A process on a store with an ordered queue: the real session on a driver whose requests are carried out when the explorer says so.

import { LEASE, Process } from './process.mjs';

/** Tokens of each revision. */
const TOKENS = 128;
/** A session lasts as long as the lease of a hold that is renewed. */
const isKept = (lease, isRenewed) => isRenewed && lease >= LEASE;

export class OrderedProcess extends Process {
  /** Whether it has no connection. */
  isCut = false;
  /** Whether its session has ended, which it finds out when it connects again. */
  isOver = false;
  /** When the store last heard from it. */
  lastContact = 0;
  requests = [];
  answers = [];
  /** Events of watches, and news of broken holds. */
  reports = [];
  /** Writes of an earlier connection that are still on the way. */
  late = [];
  /** What it watches, and whether only for its end. */
  watches = new Map();

  constructor(world, id, terms, modules) {
    super(world, id, terms, modules);
    this.modules = modules;
    this.isContended = terms.isContended;
    this.isRenewed = !terms.isTimed;
    this.extendsAtOnce = terms.extendsAtOnce;
    if (terms.claimLeases) this.claimLeases = terms.claimLeases;
    Object.assign(this.client, {
      pollNow: () => this.state === 'waits' && this.ask(),
      reconnected: () => {
        if (this.state === 'waits') this.ask();
        else if (this.state === 'holds') this.renew();
      },
    });
    this.session = modules.openOrdered(this.client, (events) => {
      this.events = events;
      return this.driver();
    });
  }

  driver() {
    const { world } = this;
    const ask = (kind, ...details) => this.send({ kind, details });
    const withQueue = ([reply, queue]) => reply && { ...reply, queue: this.queueOf(queue) };
    return {
      description: undefined,
      board: undefined,
      carriesOutWhatWasSent: true,
      lastsUntil: Infinity,
      connections: () => [],
      start: () => Promise.resolve(),
      verify: () => Promise.resolve(),
      close: () => Promise.resolve(),
      isKept,
      tokenOf: (revision) => revision * TOKENS,
      join: (request, dataFor) => this.join(request, dataFor),
      queue: async (key, { isFresh = false, watch = false } = {}) =>
        this.queueOf(await ask(isFresh ? 'fresh queue' : 'queue', watch)),
      read: (key, path, watch = false) => ask('read', path, watch && 'change'),
      watchEnd: async ({ path }) => (await ask('read', path, 'end')) !== undefined,
      write: (...writes) => ask('write', writes),
      writeAndRead: async (write) => withQueue(await Promise.all([ask('write', [write]), ask('queue')])),
      remove: (key, path) => ask('remove', path),
      removeUnchanged: (key, path, modified) => ask('remove', path, modified),
      tellBroken: (key, owner) => world.report(owner.split(':')[0], { broken: owner }),
    };
  }

  /** Decided by the store, or by a read of the queue that follows. */
  async join(request, dataFor) {
    const { owner, limit, permits, wait, contended } = request;
    const entry = { owner, limit, permits };
    const sentAt = this.now;
    if (this.world.rules.decides) {
      const free = dataFor('free');
      const reply = await this.send({ kind: 'join', details: [entry, wait, dataFor('waits'), free] });
      dataFor(reply.isHolder ? 'free' : 'waits');
      return { ...reply, queue: this.queueOf({ ...reply.queue, sentAt, isFresh: true }) };
    }
    const data = dataFor(contended ? 'waits' : 'free');
    const creating = this.send({ kind: 'create', details: [entry, data] });
    const [created, read] = await Promise.all([creating, this.send({ kind: 'queue', details: [] })]);
    const queue = this.queueOf(read);
    const { path } = created;
    const isHolder = !contended && queue.revision === created.created && queue.holds(path);
    return { path, isHolder, created: created.created, queue };
  }

  /** As of the time of the request, if the store's reads can be relied on for that. */
  queueOf({ entries, revision, sentAt, isFresh }) {
    const { rules } = this.world;
    const all = entries.map(({ stored, ...entry }) =>
      rules.decides ? { ...entry, content: () => this.contentOf(stored, sentAt) } : entry,
    );
    return new this.modules.LockQueue('key', all, revision, rules.decides && isFresh ? sentAt : undefined);
  }

  contentOf(stored, readAt) {
    return { ...stored, isOfSession: !stored.isOfEarlier, ...(this.world.rules.decides && { readAt }) };
  }

  send(request) {
    return new Promise((resolve, reject) => {
      if (this.isCut) reject(this.world.failure(false));
      else this.requests.push({ ...request, sentAt: this.now, resolve, reject });
    });
  }

  /** A request is carried out; its answer is on the way. */
  deliver(index) {
    const [request] = this.requests.splice(index, 1);
    this.lastContact = this.world.now;
    this.answers.push({ ...request, reply: this.world.execute(this, request) });
  }

  /** A request is carried out, but the store reports that it may not have been. */
  leaveInDoubt() {
    const request = this.requests.shift();
    this.lastContact = this.world.now;
    this.world.execute(this, request);
    request.reject(this.world.failure(true, false));
  }

  answer() {
    const { kind, reply, sentAt, resolve } = this.answers.shift();
    if (kind === 'read') resolve(reply && this.contentOf(reply, sentAt));
    else resolve(kind.endsWith('queue') ? { ...reply, sentAt, isFresh: kind === 'fresh queue' } : reply);
  }

  /** Whatever is on the way is in doubt. Writes may still arrive, until the process has connected again. */
  cut() {
    const { requests, answers } = this;
    this.isCut = true;
    this.late.push(...requests.filter(({ kind }) => !/read|queue/.test(kind)));
    this.requests = [];
    this.answers = [];
    this.reports = [];
    this.watches.clear();
    for (const { reject } of [...answers, ...requests]) reject(this.world.failure(true));
    this.events.lost();
  }

  connect() {
    this.isCut = false;
    // The fence of the new connection.
    this.late = [];
    this.lastContact = this.world.now;
    if (this.isOver) this.events.sessionOver();
    this.isOver = false;
    this.events.back();
  }

  report() {
    const { path, isGone, broken } = this.reports.shift();
    if (broken !== undefined) this.events.broken(broken);
    else this.events.changed(path, isGone);
  }

  /** What is left when everybody has come to the end. */
  get leftovers() {
    const { own } = this.session;
    return [
      own.all.length > 0 && 'an entry',
      own.watchers.size > 0 && 'a watch',
      own.inDoubt.size > 0 && 'a doubt',
      own.unwanted.size > 0 && 'an entry to delete',
    ].filter((each) => each !== false);
  }

  fingerprint(ago) {
    const mine = (time) => ago(time === undefined ? undefined : time / this.rate);
    const { own, leases, cancelled } = this.session;
    const entries = own.all.map(
      ({ path, request, claimLease, isMarkedWaiting, hold, waitedAt, seen, writing, watched, expiry }) => [
        [
          path,
          request.owner,
          request.claimLease,
          claimLease,
          isMarkedWaiting,
          mine(waitedAt),
          writing,
          [...watched],
          mine(expiry?.dueAt),
        ],
        seen && [seen.predecessor, seen.isPredecessorHolder, mine(seen.readAgainAt)],
        hold && [
          hold.token,
          mine(hold.endsAt),
          mine(hold.writtenUntil),
          hold.isUnclaimed,
          hold.isKept,
          !hold.delayed,
          hold.delayed?.claim?.lease,
        ],
      ],
    );
    const observed = [...leases.observed.observed].map(([path, { modified, endsAt }]) => [
      path,
      modified,
      mine(endsAt),
    ]);
    return [
      [
        this.id,
        this.state,
        this.number,
        Math.min(this.asked, this.claimLeases.length),
        mine(this.deadline),
        this.retry !== undefined,
      ],
      [this.isCut, this.isOver, this.isCut && ago(this.lastContact)],
      [
        entries,
        [...own.inDoubt],
        [...own.unwanted.keys()],
        [...own.turns.last.keys()],
        observed,
        [...cancelled],
      ],
      [this.requests, this.late].map((all) =>
        all.map(({ kind, details, sentAt }) => [kind, details, mine(sentAt)]),
      ),
      this.answers.map(({ kind, details, reply, sentAt }) => [kind, details, reply, mine(sentAt)]),
      [this.reports, [...this.watches]],
    ];
  }
}
