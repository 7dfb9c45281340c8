/** How long a session waits for a reply before it closes its connection, ms: that of the Redis store. */
const REPLY_TIMEOUT = 2_000;
/** How long a server remembers owners that were withdrawn in doubt, ms. */
const TOMBSTONE = 60_000;

/** Between two messages of one connection, so that they stay in order, ms. */
const IN_ORDER = 0.001;

const METHODS = [
  'acquire',
  'release',
  'renew',
  'reserve',
  'raise',
  'raiseTokens',
  'inspect',
  'breakHold',
  'listKeys',
];

/** Tokens of one server: from its clock, as in Redis, or far behind it, as in etcd, where they count writes. */
class ServerTokens {
  #last = 0;

  constructor(isBehind) {
    this.#last = isBehind ? (Date.now() - 86_400_000) * 1_000 : 0;
    this.isBehind = isBehind;
  }

  reserve(count) {
    const first = Math.max(this.#last + 1, this.isBehind ? 0 : Date.now() * 1_000);
    this.#last = first + count - 1;
    return first;
  }

  raise(floor) {
    this.#last = Math.max(this.#last, floor);
  }
}

/** A server: locks in memory, with what a server on a network needs besides: it rejects requests of withdrawn owners. */
export class Server {
  stalledUntil = 0;
  links = [];
  #tombstones = new Map();

  /** @param isBehind whether its tokens are far behind the clock */
  constructor(world, library, name, isBehind = false) {
    this.world = world;
    this.name = name;
    this.memory = new library.MemoryLockStore();
    this.memory.locks = new library.MemoryLocks(() => Date.now(), new ServerTokens(isBehind));
  }

  /** The holds of a key, as the server knows them. */
  holdersOf(key) {
    const { locks } = this.memory;
    locks.sweep(this.world.now);
    return [...locks.holdersOf(key).values()];
  }

  waitersOf(key) {
    return [...this.memory.locks.waitersOf(key)].filter(({ aliveUntil }) => aliveUntil >= this.world.now);
  }

  carryOut(session, method, argument, more) {
    const { now } = this.world;
    const isWithdrawn = ({ owner }) => this.#tombstones.get(owner) > now;
    if (method === 'acquire' && isWithdrawn(argument)) return Promise.resolve({ outcome: 'cancelled' });
    this.world.note(this.name, method, argument?.key ?? '', argument?.owner?.slice(-12) ?? '');
    if (method === 'breakHold') {
      const { owner, token } = more ?? {};
      const isNamed = (hold) =>
        [undefined, hold.owner].includes(owner) && [undefined, hold.token].includes(token);
      this.operators.serverBreaks(this.holdersOf(argument).filter(isNamed));
    }
    if (argument?.inDoubt === true) this.#tombstones.set(argument.owner, now + TOMBSTONE);
    return Promise.resolve(session[method](argument, more));
  }
}

/** The connection of a process to a server. Requests arrive in order, and so do replies and, apart from them, pushed messages. */
export class Link {
  isCut = false;
  /** Until when the state of the connection, or of the server, may have delayed something. */
  disturbedUntil = -Infinity;
  /** When the process last received something. */
  heardAt = 0;
  #epoch = 0;
  #pending = new Set();
  #arrivals = { requests: 0, replies: 0, pushes: 0 };

  constructor(world, library, process, server, client) {
    Object.assign(this, { world, library, process, server, client, slowness: 0 });
    server.links.push(this);
    process.links.push(this);
  }

  delay() {
    const { random } = this.world;
    return 0.2 + random.next() * 2 + this.slowness * (0.5 + random.next());
  }

  #arrival(direction, slower = 1) {
    const at = Math.max(this.#arrivals[direction] + IN_ORDER, this.world.now + slower * this.delay());
    this.#arrivals[direction] = at;
    return at - this.world.now;
  }

  failure(message, inDoubt) {
    return new this.library.LockStoreError(message, { inDoubt, retryable: true, unreachable: true });
  }

  request(session, method, argument, more) {
    if (this.isCut) return Promise.reject(this.failure('not connected', false));
    const { world, server, process } = this;
    const epoch = this.#epoch;
    const request = { isAtServer: false };
    this.#pending.add(request);
    const promise = new Promise((resolve, reject) => Object.assign(request, { resolve, reject }));
    const arrive = () => {
      request.isAtServer = true;
      const answer = (settle) => (value) => {
        if (epoch !== this.#epoch) return;
        const deliver = () => {
          if (epoch !== this.#epoch || !this.#pending.delete(request)) return;
          this.heardAt = world.now;
          world.note(
            process.name,
            'got',
            method,
            argument?.owner?.slice(-12) ?? '',
            value?.outcome ?? value?.message ?? value,
          );
          settle(value);
        };
        world.after(this.#arrival('replies'), deliver, process);
      };
      server.carryOut(session, method, argument, more).then(answer(request.resolve), answer(request.reject));
    };
    request.arrive = world.after(this.#arrival('requests'), arrive, server);
    const overdue = () => {
      if (epoch === this.#epoch && this.#pending.has(request)) this.cut();
    };
    world.after(REPLY_TIMEOUT, overdue, process);
    return promise;
  }

  push(deliver) {
    const { world, process } = this;
    const epoch = this.#epoch;
    const isLost = world.random.chance(process.lossOfPushes);
    if (isLost) this.disturb(3_500);
    const arrive = () => {
      if (isLost || this.isCut || epoch !== this.#epoch) return;
      this.heardAt = world.now;
      world.note(process.name, 'got a push');
      deliver();
    };
    world.after(this.#arrival('pushes', world.random.chance(0.1) ? 5 : 1), arrive, process);
  }

  /** Pending requests are in doubt: some never arrive, some arrive late. The connection comes back by itself. */
  cut(outage = this.world.random.between(20, 1_500)) {
    if (this.isCut) return;
    const { world } = this;
    this.isCut = true;
    this.cutSince = world.now;
    world.note(this.process.name, 'was cut from', this.server.name, outage);
    this.#epoch += 1;
    this.disturb(outage + 6_000);
    for (const request of [...this.#pending]) {
      if (!request.isAtServer) {
        request.arrive.isCleared = true;
        if (world.random.chance(0.5))
          world.after(world.random.between(0, 3_000), request.arrive.callback, this.server);
      }
      request.reject(this.failure('the connection was lost', true));
    }
    this.#pending.clear();
    const back = () => {
      if (this.process.isClosed) return;
      this.isCut = false;
      this.#arrivals = { requests: 0, replies: 0, pushes: 0 };
      this.client.reconnected();
    };
    world.after(outage, back, this.process);
  }

  disturb(ms) {
    this.disturbedUntil = Math.max(this.disturbedUntil, this.world.now + ms);
  }
}

/** A store on a server, as one process reaches it. */
export class NetworkStore {
  constructor(world, library, process, server) {
    Object.assign(this, { world, library, process, server });
    this.name = server.name;
  }

  open(client) {
    const link = new Link(this.world, this.library, this.process, this.server, client);
    const session = this.server.memory.open({
      ...client,
      id: client.id,
      now: () => this.world.now,
      granted: (owner, grant) => link.push(() => client.granted(owner, grant)),
      broken: (owner) => link.push(() => client.broken(owner)),
    });
    const wrapped = {
      start: () => link.request({ start: () => undefined }, 'start'),
      connections: () => [{ name: this.name, isOpen: !link.isCut }],
      close: () => Promise.resolve(),
    };
    for (const method of METHODS) {
      if (session[method] !== undefined)
        wrapped[method] = (argument, more) => link.request(session, method, argument, more);
    }
    return wrapped;
  }
}
