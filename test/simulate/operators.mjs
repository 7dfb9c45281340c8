/** For how long the holder of a broken lock may not know it yet, ms: its watchdog renews every third of the lease. */
const LATE = 4_500;
/** How late a grant that a server gave before a change may arrive, ms. */
const UNDER_WAY = 1_000;

const baseOf = (owner) => owner.replace(/\.\d+$/, '');

/**
 * Operators, who break all holds of a key or a single one. What they, and the holders, are told is compared with what the
 * servers did: exactly the named holds end, and a request that fails ends none. Also the judge of fencing tokens around an
 * outage, during which processes grant locks by themselves.
 */
export class Operators {
  /** When a server broke the hold of an owner. */
  #broken = new Map();
  /** Requests of the last seconds. */
  #requests = new Set();
  /** By hold: since when too few servers have it. */
  #unfounded = new Map();
  /** By process and key: the largest tokens that it was told, of itself and of the store. */
  #tokens = new Map();

  constructor(simulation) {
    Object.assign(this, { simulation, world: simulation.world });
    /** Of calls. */
    this.rate = this.world.random.pick([0.003, 0.01, 0.1]);
    for (const server of simulation.servers) server.operators = this;
  }

  /** A server breaks these holds now. */
  serverBreaks(holds) {
    for (const { owner } of holds) this.#broken.set(baseOf(owner), this.world.now);
  }

  async breakOne(process, names) {
    const { random } = this.world;
    const all = this.simulation.processes.flatMap(({ handles }) => [...handles]);
    const key = all.length > 0 && random.chance(0.8) ? random.pick(all).key : random.pick(names);
    const holds = all.filter(({ keys }) => keys.includes(key));
    const target = holds.length > 0 && random.chance(0.5) ? random.pick(holds) : undefined;
    await this.#request(process, key, target);
    if (target !== undefined && random.chance(0.3)) await this.#request(process, key);
  }

  async #request(process, key, target) {
    const { simulation, world } = this;
    const token = target?.handle.tokens.get(key);
    const request = { process, key, token, startedAt: world.now, endedHere: 0 };
    this.#requests.add(request);
    world.note(process.name, 'breaks', key, token ?? '');
    let outcome;
    try {
      if (token === undefined) outcome = (await process.admin.forceRelease(key)) ? 'broken' : 'free';
      else outcome = await process.admin.breakHold(key, { token });
    } catch (error) {
      outcome = error.message;
      if (request.endedHere > 0)
        simulation.fail(`${process.name} failed to break ${key}, and has ended a hold: ${outcome}`);
    }
    world.note(process.name, 'has broken', key, token ?? '', outcome);
    simulation.count(`breaks: ${outcome.slice(0, 20)}`);
    world.after(LATE, () => this.#requests.delete(request), undefined);
    if (target === undefined || target.handle.local) return;
    const isCalm = () =>
      Math.max(process.undisturbedSince, target.process.undisturbedSince) <= request.startedAt;
    const isKnown = target.grantedAt < request.startedAt - 200;
    if (outcome !== 'broken' && target.handle.isHeld && isKnown && isCalm())
      simulation.fail(`${process.name} did not break ${key} of ${target.process.name}: ${outcome}`);
    if (outcome !== 'broken') return;
    const isEnded = () => {
      if (target.handle.isHeld && isCalm())
        simulation.fail(`${process.name} has broken ${key} of ${target.process.name}, which still holds it`);
    };
    world.after(LATE, isEnded, undefined);
  }

  /** A hold was lost because it was broken, or another owner has the lock. */
  taken(process, key, hold) {
    const { simulation } = this;
    if (hold.handle.local) {
      const token = hold.handle.tokens.get(key);
      const concerns = (request) =>
        request.process === process && request.key === key && [undefined, token].includes(request.token);
      const request = [...this.#requests].find(concerns);
      if (request !== undefined) request.endedHere += 1;
      else if (hold.options.leaseTime === undefined && process.stalledSince < hold.grantedAt)
        simulation.fail(`${process.name} lost ${key}, which it held by itself and nobody has broken`);
      return;
    }
    if (this.hasBroken(hold, key)) return;
    const { owner } = hold.handle.holdOf(key).ticket;
    if (this.#votesFor(owner, key) >= this.#neededFor(hold))
      simulation.fail(`${process.name} lost ${key}, which the server still keeps for it`);
  }

  /** Whether an operator may have ended this hold. */
  hasBroken(hold, key) {
    const { handle, process } = hold;
    if (!handle.local) return this.#broken.has(handle.holdOf(key)?.ticket.owner);
    return [...this.#requests].some((request) => request.process === process && request.key === key);
  }

  #votesFor(owner, key) {
    const has = (server) => server.holdersOf(key).some((hold) => baseOf(hold.owner) === owner);
    return this.simulation.servers.filter(has).length;
  }

  #neededFor({ options: { limit, mode } }) {
    const members = this.simulation.servers.length;
    return limit === undefined || mode === 'shared'
      ? Math.floor(members / 2) + 1
      : Math.floor((members * limit) / (limit + 1)) + 1;
  }

  /** What processes believe to hold in the store is held for them there, or they learn the truth soon. */
  checkFacts(key, holds) {
    const { now } = this.world;
    for (const hold of holds) {
      const { owner } = hold.handle.holdOf(key).ticket;
      if (this.#votesFor(owner, key) >= this.#neededFor(hold)) {
        this.#unfounded.delete(hold);
        continue;
      }
      if (!this.#unfounded.has(hold)) this.#unfounded.set(hold, now);
      const { links, disturbedUntil, lossOfPushes } = hold.process;
      const calm = links.map((link) => link.disturbedUntil).sort((one, other) => one - other);
      // A single member of a quorum that stands still delays nothing.
      const since = Math.max(this.#unfounded.get(hold), disturbedUntil, calm[Math.floor(links.length / 2)]);
      if (now - since > (lossOfPushes > 0 ? LATE : 1_000))
        this.simulation.fail(
          `${hold.process.name} (call ${hold.call.number}) holds ${key}, which no server knows`,
        );
    }
  }

  // Tokens

  /** A process was granted an exclusive lock. */
  granted(hold, key) {
    const { process, handle, call } = hold;
    const token = handle.tokens.get(key);
    const own = this.#tokensOf(process, key);
    if (handle.local) {
      const last = Math.max(own.store, own.local);
      if (token <= last)
        this.simulation.fail(`${process.name} got the local token ${token} of ${key} after ${last}`);
      own.local = Math.max(own.local, token);
      return;
    }
    for (const other of this.simulation.processes) {
      const isBack = other.isLocal !== true && (other.backAt ?? -Infinity) < call.startedAt - UNDER_WAY;
      const { local } = this.#tokensOf(other, key);
      if (
        token > local ||
        this.hasBroken(hold, key) ||
        !(other === process || (isBack && !process.isDisturbed))
      )
        continue;
      this.simulation.fail(
        `${process.name} got the token ${token} of ${key} after the outage, in which ${other.name} had used ${local}`,
      );
    }
    own.store = Math.max(own.store, token);
  }

  #tokensOf(process, key) {
    const id = `${process.name} ${key}`;
    const known = this.#tokens.get(id) ?? { store: 0, local: 0 };
    this.#tokens.set(id, known);
    return known;
  }
}
