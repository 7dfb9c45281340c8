import { methods, fieldsOf, type Method } from '../../lib/stores/etcd/connection/protocol.js';
import { EtcdServer } from './etcd-server.js';
import { freePort } from './free-port.js';
import { until } from './until.js';

/** Asks a member whether it is the leader. */
const leads: Method<undefined, boolean> = {
  path: methods.status.path,
  encode: methods.status.encode,
  decode: (message) => {
    let [own, leader] = [0, 0];
    for (const { number, int, bytes } of fieldsOf(message)) {
      if (number === 4) leader = int;
      if (number === 1) for (const field of fieldsOf(bytes)) if (field.number === 2) own = field.int;
    }
    return own === leader;
  },
};

/** Three members on loopback. */
export class EtcdCluster {
  private constructor(readonly members: readonly EtcdServer[]) {}

  /** @param flags added to the defaults of test servers, or overriding them */
  static async start(flags: readonly string[] = []): Promise<EtcdCluster> {
    const ports = [];
    for (const name of ['one', 'two', 'three']) {
      ports.push({ name, port: await freePort(), peerPort: await freePort() });
    }
    const cluster = ports.map(({ name, peerPort }) => `${name}=http://127.0.0.1:${peerPort}`).join(',');
    const token = `lock-${process.pid}-${ports.map(({ port }) => port).join('-')}`;
    const members = await Promise.all(
      ports.map((member) => EtcdServer.startMember({ ...member, cluster, token, flags })),
    );
    const started = new EtcdCluster(members);
    await started.ready();
    return started;
  }

  get hosts(): string[] {
    return this.members.map(({ address }) => address);
  }

  /** Resolves when all members serve. */
  async ready(): Promise<void> {
    await Promise.all(this.members.map((member) => member.ready()));
  }

  /** The current leader. */
  async leader(): Promise<EtcdServer> {
    return await until('a leader is elected', async () => {
      for (const member of this.members) {
        const client = member.client();
        try {
          await client.open(500);
          if (await client.call(leads, undefined)) return member;
        } catch {
          // This member is down.
        } finally {
          client.cut(new Error('asked'));
        }
      }
      return undefined;
    });
  }

  /** The member loses its data, and joins the cluster again as a new one. */
  async replaceEmpty(emptied: EtcdServer): Promise<void> {
    const others = this.members.filter((member) => member !== emptied);
    const { members } = (await this.operate('cluster/member/list', {}, others)) as {
      members: readonly { readonly ID: string; readonly peerURLs: readonly string[] }[];
    };
    const member = members.find(({ peerURLs }) => peerURLs.includes(emptied.peerUrl));
    if (member === undefined) throw new Error('the server is not a member of the cluster');
    await this.operate('cluster/member/remove', { ID: member.ID }, others);
    await this.operate('cluster/member/add', { peerURLs: [emptied.peerUrl] }, others);
    await emptied.restartEmpty('existing');
    await this.ready();
  }

  /** The ids of all leases in the cluster. */
  async leases(): Promise<readonly string[]> {
    const { leases = [] } = (await this.operate('lease/leases', {})) as {
      leases?: readonly { readonly ID: string }[];
    };
    return leases.map(({ ID }) => ID);
  }

  /** Sends an operator's request to one member after the other until it succeeds: a cluster that is changing rejects it. */
  private async operate(path: string, body: object, members = this.members): Promise<unknown> {
    let at = 0;
    return await until(
      `${path} is carried out`,
      async () => {
        const address = members[at++ % members.length]?.address ?? '';
        const request = { method: 'POST', body: JSON.stringify(body), signal: AbortSignal.timeout(5_000) };
        const answer = await fetch(`http://${address}/v3/${path}`, request).catch(() => undefined);
        return answer?.ok === true ? await answer.json() : undefined;
      },
      { deadline: 60_000, every: 100 },
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.members.map((member) => member.close()));
  }
}
