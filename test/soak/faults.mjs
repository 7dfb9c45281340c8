import { setTimeout as elapse } from 'node:timers/promises';
import { monotonic } from './monotonic.mjs';
import { UsageError } from './options.mjs';

/** A pause without faults, ms. */
const CALM = 2_500;

/** Injects faults into processes, network and server, by a schedule drawn from the seed. */
export class Faults {
  count = 0;
  counts = {};
  #scene;
  #random;
  #only;
  #pending = new Set();

  /**
   * @param {{ fleet: import('./fleet.mjs').Fleet, server: object,
   *   operator: { forceRelease(key: string): Promise<boolean> }, random: import('./random.mjs').Random,
   *   keys: number, shared?: boolean, record: (event: object) => void, only?: readonly string[], pause?: () => number,
   *   weights?: Readonly<Record<string, number>>, more?: (note: (name: string, more?: object) => void) => unknown[] }} scene
   *   `only`: the names of the faults to inject; `pause`: ms before the next fault; `weights`: of faults that are more or less
   *   frequent than usual; `more`: further faults as `[weight, name, act]`
   * @throws {UsageError} for an unknown fault
   */
  constructor(scene) {
    this.#scene = scene;
    this.#random = scene.random;
    this.#only = scene.only;
    const names = this.#all().map(([, name]) => name);
    const unknown = this.#only?.find((name) => !names.includes(name));
    if (unknown !== undefined) {
      throw new UsageError(
        `There is no fault "${unknown}". There are: ${names.map((name) => `"${name}"`).join(', ')}.`,
      );
    }
  }

  /** Injects faults until `end` (monotonic ms). */
  async run(end) {
    while (monotonic() < end) {
      await elapse(this.#pause());
      this.#delayReplies();
      await this.#next()();
    }
    await Promise.all(this.#pending);
  }

  #pause() {
    if (this.#scene.pause !== undefined) return this.#scene.pause();
    // A run with few kinds of faults can have them often.
    if (this.#only !== undefined) return this.#random.between(20, 200);
    return this.#random.chance(0.07) ? CALM : this.#random.between(30, 600);
  }

  /** Slow replies are common in practice, so they are added to all other faults. */
  #delayReplies() {
    if (!(this.#only?.includes('replies held') ?? true)) return;
    for (const { id, proxy, isGone } of this.#scene.fleet.members) {
      if (!isGone && this.#random.chance(this.#only === undefined ? 0.08 : 0.4)) {
        proxy.holdReplies(this.#random.between(20, 300));
        this.#scene.record({ e: 'fault', name: 'replies late', p: id });
      }
    }
  }

  #next() {
    const able = this.#scene.fleet.able;
    if (able.length === 0) return () => elapse(50);
    const all = this.#all(this.#random.pick(able));
    const wanted = all.filter(([, name]) => this.#only?.includes(name) ?? true);
    const { weights } = this.#scene;
    return this.#random.weighted(
      wanted.map(([weight, name, act]) => [weights?.[name] ?? weight, () => act(name)]),
    );
  }

  /** The faults as `[weight, name, act]`. */
  #all(member) {
    const { server, record, more } = this.#scene;
    const note = (name, details) => this.#note(name, details);
    const network = (name, act) => [14, name, () => this.#network(name, member, act)];
    return [
      network('replies held', (proxy, ms) => proxy.holdReplies(ms)),
      network('requests held', (proxy, ms) => proxy.holdRequests(ms)),
      network('connections cut', (proxy) => proxy.cut(() => this.#random.chance(0.7))),
      network('requests held, then cut', (proxy, ms) => {
        proxy.holdRequests(ms);
        this.#later(this.#random.between(0, ms), () => proxy.cut(() => this.#random.chance(0.7)));
      }),
      [4, 'process killed', () => this.#kill(member)],
      [3, 'process shut down', () => this.#leave(member)],
      [9, 'process stopped', () => this.#stop(member)],
      [4, 'released by force', () => this.#forceRelease()],
      [6, `${server.pushes} dropped`, (name) => this.#dropPushed(name, member)],
      ...server.faults({ random: this.#random, note, record }),
      ...(more?.(note) ?? []),
    ];
  }

  #note(name, more = {}) {
    this.count += 1;
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    this.#scene.record({ e: 'fault', name, ...more });
  }

  /** Runs `act` after a delay, while other faults may start. */
  #later(ms, act) {
    const done = elapse(ms)
      .then(act)
      .finally(() => this.#pending.delete(done));
    this.#pending.add(done);
  }

  async #network(name, { id, proxy }, act) {
    const ms = this.#random.between(10, this.#random.chance(0.2) ? 3_000 : 700);
    this.#note(name, { p: id, ms });
    act(proxy, ms);
  }

  async #kill(member) {
    this.#note('process killed', { p: member.id });
    await this.#scene.fleet.kill(member);
    await this.#scene.fleet.start();
  }

  async #leave(member) {
    this.#note('process shut down', { p: member.id });
    member.leaving = true;
    member.order({ order: 'end', abrupt: this.#random.chance(0.7) });
    await this.#scene.fleet.start();
  }

  async #stop(member) {
    const ms = this.#random.between(50, 4_000);
    this.#note('process stopped', { p: member.id, ms });
    member.stopped = true;
    member.child.kill('SIGSTOP');
    this.#later(ms, () => {
      member.stopped = false;
      member.child.kill('SIGCONT');
    });
  }

  /** Pushed messages to one process are lost; replies arrive. */
  async #dropPushed(name, member) {
    const ms = this.#random.between(20, this.#random.chance(0.2) ? 3_000 : 400);
    this.#note(name, { p: member.id, ms });
    member.order({ order: 'drop pushed events', ms });
  }

  /**
   * The holder does not notice immediately, so for a while two processes consider the lock theirs; the operator caused
   * that. Earlier grants are recognised by their tokens.
   */
  async #forceRelease() {
    const { server, operator, keys, shared, record } = this.#scene;
    await server.isWritable();
    const key = `k${this.#random.between(0, keys - (shared ? -1 : 1))}`;
    this.#note('released by force', { k: key });
    const since = monotonic();
    try {
      await operator.forceRelease(key);
    } catch {
      // No reply: it may still be carried out, but not by a server that has replied to a later request since.
      await elapse(2_500);
    }
    record({ e: 'doomed', since, k: key, fence: await server.fence(key) });
  }
}
