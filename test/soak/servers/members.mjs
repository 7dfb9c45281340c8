import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { end } from '../lifeline.mjs';
import { monotonic } from '../monotonic.mjs';

/**
 * Three servers that need a majority. A subclass has:
 *
 * - `launch(member)`: starts its `process`;
 * - `leader()`: the leader, or any member if there is none;
 * - `served()`: resolves when the cluster is available;
 * - `areServing(members)`: whether these members serve requests now;
 * - `empty(means, name, member)`: the fault that a member loses its data.
 */
export class Members {
  pushes = 'watch events';
  /** While the other members can elect another leader, ms. */
  longestStopOfLeader = 2_500;
  /** @type {{ name: string, port: number, process: import('node:child_process').ChildProcess }[]} */
  members = [];

  /** @param {string} directory of the members' folders */
  constructor(directory) {
    this.directory = directory;
  }

  folderOf({ name }) {
    return join(this.directory, name);
  }

  async close() {
    await Promise.all(this.members.map(({ process }) => process && end(process)));
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** The port of the member behind the proxies. */
  get port() {
    return this.members[0].port;
  }

  get targets() {
    return [() => this.port];
  }

  get url() {
    return this.urlAt(this.port);
  }

  urlAt(port) {
    return [port, ...this.members.slice(1).map((member) => member.port)]
      .map((one) => `127.0.0.1:${one}`)
      .join(',');
  }

  async isWritable() {
    await Promise.resolve();
  }

  isTransient() {
    return true;
  }

  /** The faults of the cluster as `[weight, name, act]`. */
  faults(means) {
    const { random } = means;
    const any = () => random.pick(this.members);
    const majority = () => this.members.slice(random.between(0, 1), 2 + random.between(0, 1));
    return [
      [6, 'member stopped', (name) => this.stop(means, name, [any()])],
      [5, 'leader stopped', async (name) => this.stop(means, name, [await this.leader()])],
      [3, 'majority stopped', (name) => this.stop(means, name, majority())],
      [4, 'leader killed and started again', async (name) => this.kill(means, name, [await this.leader()])],
      [3, 'member killed and started again', (name) => this.kill(means, name, [any()])],
      [2, 'member killed, emptied and started again', (name) => this.empty(means, name, any())],
      [2, 'all killed and started again', (name) => this.kill(means, name, this.members)],
    ];
  }

  async stop({ random, note, record }, name, members) {
    const isReplaced = members.length === 1 && members[0] === (await this.leader());
    const ms = random.between(20, isReplaced ? this.longestStopOfLeader : 2_500);
    const untilServed = await this.outageWithout(members, record);
    note(name, { ms, members: members.map((member) => member.name) });
    for (const { process } of members) process.kill('SIGSTOP');
    untilServed();
    await elapse(ms);
    for (const { process } of members) process.kill('SIGCONT');
  }

  async kill({ random, note, record }, name, members) {
    const untilServed = await this.outageWithout(members, record);
    note(name, { members: members.map((member) => member.name) });
    await Promise.all(members.map(({ process }) => end(process)));
    untilServed();
    await elapse(random.between(0, 1_500));
    for (const member of members) this.launch(member);
  }

  /**
   * The returned function is called when these members have failed. It records how long the cluster is unavailable, without
   * waiting for the end, unless a leader and a majority are left: a member that has just been started may not serve yet.
   */
  async outageWithout(members, record) {
    const others = this.members.filter((member) => !members.includes(member));
    const staysAvailable =
      others.includes(await this.leader()) && (await this.areServing(others)) && others.length > 1;
    const from = monotonic();
    return () => {
      if (staysAvailable) return;
      this.served().then(
        () => record({ e: 'away', from }),
        () => undefined,
      );
    };
  }
}

/** Retries until it succeeds; throws the last failure. */
export async function withRetries(work) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      if (attempt > 300) throw error;
      await elapse(100);
    }
  }
}
