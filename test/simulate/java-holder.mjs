/** Redisson in a Java process: the steps of its `RLock` and `RFencedLock`, see docs/internals/proof.md#the-simulation. */
export class JavaHolder {
  stalledUntil = 0;
  /** By channel: the kind of its messages, as of a connection. */
  channels = new Map();
  #woken = () => undefined;

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

  closedByServer() {}

  cut() {}

  delay() {
    return 0.2 + this.world.random.next() * 2;
  }

  pause(ms) {
    return new Promise((resolve) => this.world.after(ms, resolve, this));
  }

  /** One script at the primary, as soon as there is one. */
  request(step) {
    const { world, site } = this;
    return new Promise((resolve) => {
      const arrive = (server) => () => {
        if (server.isDown || server.isPaused || server.isReplica) {
          world.after(100, () => send(), this);
          return;
        }
        const reply = server.step(step);
        world.note(this.name, String(reply));
        world.after(this.delay(), () => resolve(reply), this);
      };
      const send = () => world.after(this.delay(), arrive(site.primary), site.primary);
      send();
    });
  }

  async live() {
    const { simulation, world } = this;
    const { random } = world;
    for (;;) {
      await this.pause(random.between(0, 2) ** 3 * random.between(1, 30) * simulation.pace);
      if (simulation.isEnding) return;
      const names = this.site.namesOf(random.pick(simulation.names));
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
    await this.listen(names.channel);
    for (left = await this.tryLock(names); left !== 'held' && world.now < until;) {
      await new Promise((resolve) => {
        this.#woken = resolve;
        world.after(Math.min(Math.max(left, 0), until - world.now), resolve, this);
      });
      left = await this.tryLock(names);
    }
    this.site.primary.connections.delete(this);
    this.site.replica.connections.delete(this);
    this.channels.clear();
    return left === 'held';
  }

  listen(channel) {
    return this.request((server) => {
      this.channels.set(channel, 'message');
      server.connections.add(this);
      return 'subscribed';
    });
  }

  tryLock({ lock, counter }) {
    const { owner, isFenced, simulation } = this;
    return this.request((server) => {
      const isFree = server.call(['EXISTS', lock]) === 0 || server.call(['HEXISTS', lock, owner]) === 1;
      if (!isFree) return server.call(['PTTL', lock]);
      server.call(['HINCRBY', lock, owner, '1']);
      server.call(['PEXPIRE', lock, String(simulation.lease)]);
      if (isFenced) server.call(['INCR', counter]);
      return 'held';
    });
  }

  /** The watchdog renews it; now and then the process is gone instead. */
  async hold({ lock, channel }) {
    const { owner, simulation, world } = this;
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
      if ((await this.request(renew)) === 0) return;
    }
    await this.pause(Math.min(left, simulation.lease / 3));
    await this.request((server) => {
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
