/** Redisson in a Java process: the steps of its `RLock` and `RFencedLock`, see docs/internals/proof.md#the-simulation. */
export class JavaHolder {
  stalledUntil = 0;
  /** By channel: the kind of its messages, as of a connection. */
  channels = new Map();
  #woken = () => undefined;
  /** The lock for whose release it listens. */
  #names;

  constructor(simulation, name) {
    const { world } = simulation;
    Object.assign(this, { simulation, world, name, site: simulation.servers[0] });
    this.owner = `${name.replace(' ', '-')}:31`;
    this.isFenced = world.random.chance(0.5);
    void this.live();
  }

  push() {
    this.world.after(this.delay(), () => this.#woken(), this);
  }

  /** Its slot has moved. */
  unsubscribed(channel) {
    const again = () => channel === this.#names?.channel && void this.listen(this.#names);
    this.world.after(this.world.random.between(1, 500), again, this);
  }

  closedByServer() {}

  cut() {}

  delay() {
    return 0.2 + this.world.random.next() * 2;
  }

  pause(ms) {
    return new Promise((resolve) => this.world.after(ms, resolve, this));
  }

  /** One script about a lock at the server that has it, as soon as there is one. */
  request({ lock, counter }, step) {
    const { world, site } = this;
    return new Promise((resolve) => {
      const arrive = (server) => () => {
        const keys = this.isFenced ? [lock, counter] : [lock];
        const isElsewhere = server.cluster?.redirection(keys, false, false) !== undefined;
        if (server.isDown || server.isPaused || server.isReplica || isElsewhere) {
          world.after(100, () => send(), this);
          return;
        }
        const reply = server.step(step);
        world.note(this.name, String(reply));
        world.after(this.delay(), () => resolve(reply), this);
      };
      const send = () => {
        const server = site.serverFor(lock);
        world.after(this.delay(), arrive(server), server);
      };
      send();
    });
  }

  async live() {
    const { simulation, world } = this;
    const { random } = world;
    for (;;) {
      await this.pause(random.between(0, 2) ** 3 * random.between(1, 30) * simulation.pace);
      if (simulation.isEnding) return;
      const names = this.site.namesOf(random.pick(simulation.busyNames));
      if (await this.lock(names, random.pick([0, 50, 1_000, 8_000]))) await this.hold(names);
    }
  }

  /** `tryLock(waitTime)`: tries, subscribes, and tries again after each message and when the lease is over. */
  async lock(names, waitTime) {
    const { world } = this;
    const until = world.now + waitTime;
    let left = await this.tryLock(names);
    if (left === 'held') return true;
    if (waitTime === 0) return false;
    this.#names = names;
    await this.listen(names);
    for (left = await this.tryLock(names); left !== 'held' && world.now < until;) {
      await new Promise((resolve) => {
        this.#woken = resolve;
        world.after(Math.min(Math.max(left, 0), until - world.now), resolve, this);
      });
      left = await this.tryLock(names);
    }
    this.#names = undefined;
    for (const server of this.site.servers) server.connections.delete(this);
    this.channels.clear();
    return left === 'held';
  }

  listen(names) {
    return this.request(names, (server) => {
      this.channels.set(names.channel, 'message');
      server.connections.add(this);
      return 'subscribed';
    });
  }

  tryLock(names) {
    const { owner, isFenced, simulation } = this;
    const { lock, counter } = names;
    return this.request(names, (server) => {
      const isFree = server.call(['EXISTS', lock]) === 0 || server.call(['HEXISTS', lock, owner]) === 1;
      if (!isFree) return server.call(['PTTL', lock]);
      server.call(['HINCRBY', lock, owner, '1']);
      server.call(['PEXPIRE', lock, String(simulation.lease)]);
      if (isFenced) server.call(['INCR', counter]);
      return 'held';
    });
  }

  /** The watchdog renews it; now and then the process is gone instead. */
  async hold(names) {
    const { owner, simulation, world } = this;
    const { lock, channel } = names;
    const { random } = world;
    if (random.chance(0.003) && !simulation.isEnding) {
      await this.pause(simulation.lease);
      return;
    }
    const renew = (server) =>
      server.call(['HEXISTS', lock, owner]) === 1
        ? server.call(['PEXPIRE', lock, String(simulation.lease)])
        : 0;
    let left = random.pick([0, 2, 20, 200, random.chance(0.02) ? 2 * simulation.lease : 20]);
    for (; left > simulation.lease / 3 && !simulation.isEnding; left -= simulation.lease / 3) {
      await this.pause(simulation.lease / 3);
      if ((await this.request(names, renew)) === 0) return;
    }
    await this.pause(Math.min(left, simulation.lease / 3));
    await this.request(names, (server) => {
      if (server.call(['HEXISTS', lock, owner]) === 0) return 'not held';
      if (server.call(['HINCRBY', lock, owner, '-1']) > 0) {
        server.call(['PEXPIRE', lock, String(simulation.lease)]);
        return 'held again';
      }
      server.call(['DEL', lock]);
      server.call(['PUBLISH', channel, '0']);
      return 'unlocked';
    });
  }
}
