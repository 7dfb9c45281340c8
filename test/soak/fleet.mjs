import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LateProxy } from './late-proxy.mjs';
import { end, spawnTied } from './lifeline.mjs';

/** One process of a run, and the proxy in front of its server. */
export class Member {
  stopped = false;
  leaving = false;
  holds = 0;
  /** Whether it is the leader, in a run of elections. */
  leads = false;
  /** The number of pushed events that were dropped. */
  dropped = 0;
  /** Output outside of its log, such as a crash of Node itself. */
  output = '';

  constructor(id, child, proxy) {
    this.id = id;
    this.child = child;
    this.proxy = proxy;
    this.exited = once(child, 'exit');
  }

  get isGone() {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  order(message) {
    if (this.child.connected) this.child.send(message, () => undefined); // it may be dying
  }
}

/** The processes that use the lock. */
export class Fleet {
  members = [];
  #next = 0;

  /**
   * @param {{ settings: object, server: { url: string, targets: (() => number)[], urlAt(...ports: number[]): string }, directory: string,
   *   resource?: import('./fenced-resource.mjs').FencedResource, record: (event: object) => void,
   *   worker?: string }} scene   `worker`: the script of the processes
   */
  constructor(scene) {
    this.scene = scene;
  }

  get logs() {
    return this.members.map(({ id }) => this.#logOf(id));
  }

  get holds() {
    return this.members.reduce((sum, { holds }) => sum + holds, 0);
  }

  get dropped() {
    return this.members.reduce((sum, { dropped }) => sum + dropped, 0);
  }

  /** Members that can have a fault. */
  get able() {
    return this.members.filter((member) => !member.isGone && !member.stopped && !member.leaving);
  }

  async start() {
    const { settings, server, record, worker = 'worker.mjs' } = this.scene;
    const script = fileURLToPath(new URL(worker, import.meta.url));
    const id = `p${++this.#next}`;
    let proxy;
    if (settings.faults) {
      // The port changes when the primary does.
      proxy = new LateProxy(...server.targets);
      await proxy.open();
    }
    const plan = {
      ...settings,
      id,
      seed: settings.seed * 1_000 + this.#next,
      url: proxy ? server.urlAt(...proxy.ports) : server.url,
      log: this.#logOf(id),
    };
    record({ e: 'start', p: id });
    const child = spawnTied(process.execPath, [script, JSON.stringify(plan)], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const member = new Member(id, child, proxy);
    this.members.push(member);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (text) => (member.output += text));
    }
    child.on('message', (message) => this.#receive(member, message));
    child.on('exit', (code, signal) => {
      record({
        e: 'exit',
        p: id,
        code,
        signal,
        ...(member.output && { output: member.output.slice(-2_000) }),
      });
      proxy?.close();
    });
    return member;
  }

  async kill(member) {
    await end(member.child);
  }

  /** Tells all processes to close, and waits; those that hang are recorded and killed. */
  async endAll(patience) {
    const tooLate = AbortSignal.timeout(patience);
    for (const member of this.members) {
      if (member.isGone || member.leaving) continue;
      member.leaving = true;
      member.order({ order: 'end', abrupt: member.id.length % 2 === 0 });
    }
    await Promise.race([Promise.all(this.members.map(({ exited }) => exited)), once(tooLate, 'abort')]);
    for (const member of this.members) {
      if (member.isGone) continue;
      this.scene.record({ e: 'stuck', p: member.id });
      await this.kill(member);
    }
  }

  #logOf(id) {
    return join(this.scene.directory, `${id}.log`);
  }

  #receive(member, { write, ...state }) {
    const { resource, record } = this.scene;
    Object.assign(member, state);
    if (write === undefined) return;
    const taken = resource.write(write.k, write.tok);
    record({ e: 'write', p: member.id, ...write, taken });
    member.order({ i: write.i, taken });
  }
}
