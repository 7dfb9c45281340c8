import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { askEtcd, etcdArguments, FAST_ETCD, leadsEtcd, peerUrlOf } from '../../../.scripts/servers/etcd.mjs';
import { replaceMember } from '../../../.scripts/servers/etcd-membership.mjs';
import { freePort } from '../../../.scripts/servers/free-port.mjs';
import { end, spawnTied } from '../lifeline.mjs';
import { Members, withRetries } from './members.mjs';
import { load } from './module-options.mjs';

const PREFIX = 'distributed-lock/';
const TOKENS_PER_REVISION = 128;

/** An etcd cluster of three members on free ports of the loopback interface, with persistent data. */
export class EtcdUnderTest extends Members {
  /**
   * A former leader that resumes may end leases that live sessions have renewed at its successor, if they have expired by its own
   * records (https://github.com/etcd-io/etcd/issues/15247, still seen in 3.6.16). Those of the soak last for 2 s, and are
   * renewed every 250 ms.
   */
  longestStopOfLeader = 1_200;

  #program;
  #build;
  #library;
  /** Compacts as the documentation recommends; runs with faults compact at random instead. */
  #compacts = false;

  constructor(program, directory, build) {
    super(join(directory, 'etcd'));
    this.#program = program;
    this.#build = build;
  }

  async start({ faults }) {
    this.#compacts = !faults;
    const { Endpoint, channelCredentials } = await load(
      this.#build.entry,
      'stores/etcd/connection/endpoint.js',
    );
    const { methods } = await load(this.#build.entry, 'stores/etcd/connection/protocol.js');
    this.#library = { Endpoint, channelCredentials, methods };
    for (const name of ['one', 'two', 'three']) {
      this.members.push({ name, port: await freePort(), peerPort: await freePort() });
    }
    for (const member of this.members) this.launch(member);
    await this.#look();
  }

  /** No larger fencing token has been issued so far. */
  async fence() {
    const { revision, reply } = await this.#look(`${PREFIX}base`);
    return Number(reply.entries[0]?.value ?? 0) + (revision + 1) * TOKENS_PER_REVISION - 1;
  }

  async leftovers() {
    const { reply } = await this.#look(`${PREFIX}l/`, `${PREFIX}l0`);
    return reply.entries.map(({ key }) => ({ name: key, ttl: -1 }));
  }

  /** Each write has its own revision. */
  async census() {
    const { revision, reply } = await this.#look(PREFIX, `${PREFIX.slice(0, -1)}0`);
    return { entries: reply.count, writes: revision, bytes: undefined };
  }

  faults(means) {
    return [...super.faults(means), [3, 'history compacted', (name) => this.#compact(means.note, name)]];
  }

  /** The member loses its data, and joins the cluster again as a new one. */
  async empty({ random, note, record }, name, member) {
    const others = this.members.filter((other) => other !== member);
    // The other two must agree without it, so they must be up to date.
    await this.#serving(this.members);
    const untilServed = await this.outageWithout([member], record);
    note(name, { members: [member.name] });
    await end(member.process);
    untilServed();
    rmSync(this.#dataOf(member), { recursive: true, force: true });
    await replaceMember(peerUrlOf(member), others);
    await elapse(random.between(0, 1_500));
    this.launch(member, 'existing');
    // It does not count towards a majority before it is up to date.
    await this.#serving([member]);
  }

  async served() {
    await withRetries(() => Promise.any(this.members.map((member) => this.#askAt(member, ...this.#latest))));
  }

  async areServing(members) {
    const replies = members.map((member) => this.#askAt(member, ...this.#latest));
    return (await Promise.allSettled(replies)).every(({ status }) => status === 'fulfilled');
  }

  /** Resolves when each of these members serves up-to-date reads. */
  async #serving(members) {
    for (const member of members) await withRetries(() => this.#askAt(member, ...this.#latest));
  }

  /** A linearizable read: only an up-to-date member answers it. */
  get #latest() {
    return [this.#library.methods.range, { do: 'range', key: 'x', end: undefined, serializable: false }];
  }

  async #compact(note, name) {
    note(name);
    const { revision } = await this.#look();
    await askEtcd(this.members[0], 'kv/compaction', { revision }).catch(() => undefined);
  }

  async leader() {
    for (const member of this.members) if (await leadsEtcd(member)) return member;
    return this.members[0];
  }

  #look(key = 'x', last = undefined) {
    return this.#ask(this.#library.methods.range, { do: 'range', key, end: last, serializable: false });
  }

  /** Asks one member after the other, with retries. */
  async #ask(method, request) {
    return withRetries((attempt) =>
      this.#askAt(this.members[attempt % this.members.length], method, request),
    );
  }

  async #askAt({ port }, method, request) {
    const { Endpoint, channelCredentials } = this.#library;
    const endpoint = new Endpoint(`127.0.0.1:${port}`, channelCredentials(undefined), undefined, 2_000);
    try {
      await endpoint.open(1_000);
      return await endpoint.call(method, request);
    } finally {
      endpoint.cut(new Error('asked'));
    }
  }

  #dataOf(member) {
    return join(this.folderOf(member), 'data');
  }

  /** @param {'new' | 'existing'} state of the cluster, for a member without data */
  launch(member, state = 'new') {
    const directory = this.folderOf(member);
    mkdirSync(directory, { recursive: true });
    const args = etcdArguments(member, this.#dataOf(member), this.members, {
      ...FAST_ETCD,
      'initial-cluster-state': state,
      'initial-cluster-token': this.directory,
      ...(this.#compacts && { 'auto-compaction-mode': 'periodic', 'auto-compaction-retention': '1m' }),
    });
    member.process = spawnTied(this.#program, args, { cwd: directory, stdio: 'ignore' });
  }
}
