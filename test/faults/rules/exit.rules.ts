import { afterEach, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { TcpProxy } from '../../support/tcp-proxy.js';
import { rejectionOf, until } from '../../support/until.js';
import { WorkerProcess } from '../../support/worker-process.js';
import type { StoreScene } from '../scenes/store-scene.js';

/** ms; an application that has nothing to wait for takes a few, on a busy machine some hundred. */
const SOON = 10_000;

/** Takes connections, and says nothing. */
class SilentServer {
  readonly connections: Socket[] = [];
  private readonly server = createServer((socket) => {
    this.connections.push(socket);
    socket.on('error', () => undefined);
    socket.resume();
  });

  async listen(): Promise<this> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return this;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  close(): void {
    this.server.close();
    for (const socket of this.connections) socket.destroy();
  }
}

/** However its connection is, a process ends by itself, and at once. */
export function exitRules(scene: StoreScene): void {
  const workers: WorkerProcess[] = [];
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((one) => one.kill()));
  });

  const worker = async (port: number, isSecure = false): Promise<WorkerProcess> => {
    const one = await WorkerProcess.start({ ...scene.workerOptions(port, isSecure), shutdownTimeout: 100 });
    workers.push(one);
    return one;
  };
  const proxied = async (): Promise<{ proxy: TcpProxy; one: WorkerProcess }> => {
    const proxy = await scene.proxy();
    const one = await worker(proxy.port);
    await one.do('acquire', { key: scene.key() });
    return { proxy, one };
  };
  const ends = async (one: WorkerProcess): Promise<void> => {
    expect(await one.closeAndExit(SOON)).toBe(0);
    expect(one.keptOpen).toEqual([]);
  };

  it('F51: a process ends by itself while it is connected', async () => {
    const { one } = await proxied();
    await ends(one);
  });

  it('F51: a process ends by itself when its connection was cut a moment before, and the server accepts no new one', async () => {
    const { proxy, one } = await proxied();
    await proxy.refuse();
    proxy.cut();
    await ends(one);
  });

  it('F51: a process ends by itself when its connection is cut and it is connecting again', async () => {
    const { proxy, one } = await proxied();
    proxy.cut();
    await ends(one);
  });

  it('F51: a process ends by itself when its connection has fallen silent', async () => {
    const { proxy, one } = await proxied();
    proxy.swallow('requests');
    proxy.swallow('replies');
    await ends(one);
  });

  it('F51: a process ends by itself when the server stands still', async () => {
    const { one } = await proxied();
    await scene.server.stop();
    try {
      await ends(one);
    } finally {
      await scene.server.resume();
    }
  });

  it.each([
    ['', false],
    [' by TLS', true],
  ])('F51: a process ends by itself while it connects%s to a silent server', async (_, isSecure) => {
    const host = scene.endings.until(await new SilentServer().listen());
    const one = await worker(host.port, isSecure);
    await rejectionOf(one.do('acquire', { key: 'key', options: { waitTime: 0 } }));
    // One attempt ends after some seconds; the one that is under way now has not been there for long.
    const attempts = host.connections.length;
    await until('it connects again', () => host.connections.length > attempts);
    await ends(one);
    await until('its connections are closed', () => host.connections.every(({ destroyed }) => destroyed));
    expect(host.connections).toHaveLength(attempts + 1);
  });
}
