import { freePort } from './free-port.js';
import { until } from './until.js';
import { ZooKeeperServer } from './zookeeper-server.js';

/** Three members on loopback. */
export class ZooKeeperCluster {
  private constructor(readonly members: readonly ZooKeeperServer[]) {}

  static async start(): Promise<ZooKeeperCluster> {
    const members: { id: number; port: number; peers: string }[] = [];
    for (const id of [1, 2, 3]) {
      const peers = `127.0.0.1:${await freePort()}:${await freePort()}`;
      members.push({ id, port: await freePort(), peers });
    }
    const servers = await Promise.all(
      members.map(({ id, port }) => ZooKeeperServer.start({}, { id, port, members })),
    );
    const started = new ZooKeeperCluster(servers);
    await started.ready();
    return started;
  }

  get hosts(): string[] {
    return this.members.map(({ address }) => address);
  }

  /** Resolves when all members serve and one leads. */
  async ready(): Promise<void> {
    await until(
      'all members serve, and one leads',
      async () => {
        const modes = await Promise.all(this.members.map((member) => member.mode()));
        return modes.includes('leader') && modes.every((mode) => mode !== undefined);
      },
      { deadline: 60_000, every: 50 },
    );
  }

  /** The current leader. */
  async leader(): Promise<ZooKeeperServer> {
    return await this.inMode('leader');
  }

  /** One of the followers. */
  async follower(): Promise<ZooKeeperServer> {
    return await this.inMode('follower');
  }

  async close(): Promise<void> {
    await Promise.all(this.members.map((member) => member.close()));
  }

  private async inMode(wanted: 'leader' | 'follower'): Promise<ZooKeeperServer> {
    return await until(
      `there is a ${wanted}`,
      async () => {
        for (const member of this.members) if ((await member.mode()) === wanted) return member;
        return undefined;
      },
      { deadline: 60_000, every: 20 },
    );
  }
}
