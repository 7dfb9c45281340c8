import { askEtcd, leadsEtcd } from '../../.scripts/servers/etcd.mjs';
import { replaceMember } from '../../.scripts/servers/etcd-membership.mjs';
import { EtcdServer } from './etcd-server.js';
import { freePort } from './free-port.js';
import { until } from './until.js';

/** Three members on loopback. */
export class EtcdCluster {
  private constructor(readonly members: readonly EtcdServer[]) {}

  /** @param flags added to the defaults of test servers, or overriding them */
  static async start(flags: readonly string[] = []): Promise<EtcdCluster> {
    const all: { name: string; port: number; peerPort: number }[] = [];
    for (const name of ['one', 'two', 'three']) {
      all.push({ name, port: await freePort(), peerPort: await freePort() });
    }
    const token = `lock-${process.pid}-${all.map(({ port }) => port).join('-')}`;
    const members = await Promise.all(
      all.map((member) => EtcdServer.startMember({ ...member, members: all, token, flags })),
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
      for (const member of this.members) if (await leadsEtcd(member)) return member;
      return undefined;
    });
  }

  /** The member loses its data, and joins the cluster again as a new one. */
  async replaceEmpty(emptied: EtcdServer): Promise<void> {
    const others = this.members.filter((member) => member !== emptied);
    await replaceMember(emptied.peerUrl, others);
    await emptied.restartEmpty('existing');
    await this.ready();
  }

  /** The ids of all leases in the cluster. */
  async leases(): Promise<readonly string[]> {
    const { leases = [] } = (await until('a member lists the leases', async () => {
      const asked = this.members.map((member) => askEtcd(member, 'lease/leases'));
      return await Promise.any<object>(asked).catch(() => undefined);
    })) as { leases?: readonly { readonly ID: string }[] };
    return leases.map(({ ID }) => ID);
  }

  async close(): Promise<void> {
    await Promise.all(this.members.map((member) => member.close()));
  }
}
