import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { randomUUID } from 'node:crypto';
import { EtcdServer } from '../support/etcd-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { rejectionOf, until } from '../support/until.js';
import { whereThereIsEtcd } from '../support/where-there-is-etcd.js';
import { WorkerProcess } from '../support/worker-process.js';

/** ms; an application that has nothing to wait for takes a few, on a busy machine some hundred. */
const SOON = 10_000;

/** Takes connections, and says nothing. */
class SilentServer {
  readonly connections: Socket[] = [];
  private constructor(private readonly server: Server) {}

  static async start(): Promise<SilentServer> {
    const silent = new SilentServer(createServer());
    silent.server.on('connection', (socket) => {
      silent.connections.push(socket);
      socket.on('error', () => undefined);
      socket.resume();
    });
    silent.server.listen(0, '127.0.0.1');
    await once(silent.server, 'listening');
    return silent;
  }

  get address(): string {
    const address = this.server.address();
    return `127.0.0.1:${typeof address === 'object' ? String(address?.port) : ''}`;
  }

  close(): void {
    this.server.close();
    for (const socket of this.connections) socket.destroy();
  }
}

whereThereIsEtcd('the end of a process with etcd', () => {
  describe('F51: a process with etcd ends by itself, and at once,', () => {
    let started: EtcdServer | undefined;
    const workers: WorkerProcess[] = [];
    const proxies: TcpProxy[] = [];
    const silent: SilentServer[] = [];

    const server = (): EtcdServer => {
      if (!started) throw new Error('the server is there only while tests run');
      return started;
    };
    const worker = async (etcd: object): Promise<WorkerProcess> => {
      const one = await WorkerProcess.start({ etcd, shutdownTimeout: 100 });
      workers.push(one);
      return one;
    };
    const proxied = async (): Promise<{ proxy: TcpProxy; one: WorkerProcess }> => {
      const proxy = await TcpProxy.before(server().port);
      proxies.push(proxy);
      const one = await worker({ hosts: `127.0.0.1:${proxy.port}` });
      await one.do('acquire', { key: `key-${randomUUID()}` });
      return { proxy, one };
    };
    const ends = async (one: WorkerProcess): Promise<void> => {
      expect(await one.closeAndExit(SOON)).toBe(0);
      expect(one.keptOpen).toEqual([]);
    };

    beforeAll(async () => {
      started = await (await EtcdServer.start()).ready();
    });
    afterEach(async () => {
      await Promise.all(workers.splice(0).map((one) => one.kill()));
      await Promise.all(proxies.splice(0).map((one) => one.close()));
      for (const one of silent.splice(0)) one.close();
    });
    afterAll(async () => {
      await started?.close();
    });

    it('while it is connected', async () => {
      const { one } = await proxied();
      await ends(one);
    });

    it('when its connection was cut a moment before, and nobody takes a new one', async () => {
      const { proxy, one } = await proxied();
      await proxy.refuse();
      proxy.cut();
      await ends(one);
    });

    it('when its connection is cut and it is connecting again', async () => {
      const { proxy, one } = await proxied();
      proxy.cut();
      await ends(one);
    });

    it('when its connection has fallen silent', async () => {
      const { proxy, one } = await proxied();
      proxy.swallow('requests');
      proxy.swallow('replies');
      await ends(one);
    });

    it('when the server stands still', async () => {
      const { one } = await proxied();
      await server().stop();
      try {
        await ends(one);
      } finally {
        server().resume();
      }
    });

    it.each([
      ['', {}],
      [' by TLS', { tls: {} }],
    ])('while it connects%s to somebody who says nothing', async (_, options) => {
      const host = await SilentServer.start();
      silent.push(host);
      const one = await worker({ hosts: host.address, ...options });
      await rejectionOf(one.do('acquire', { key: 'key', options: { waitTime: 0 } }));
      // One attempt ends after two seconds; the one that is under way now has not been there for long.
      const attempts = host.connections.length;
      await until('it connects again', () => host.connections.length > attempts);
      await ends(one);
      await until('its connections are closed', () => host.connections.every(({ destroyed }) => destroyed));
      expect(host.connections).toHaveLength(attempts + 1);
    });
  });
});
