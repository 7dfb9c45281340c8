import { afterEach, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { TcpProxy } from '../../support/tcp-proxy.js';
import { rejectionOf, until } from '../../support/until.js';
import { WorkerProcess } from '../../support/worker-process.js';
import type { StoreScene } from '../scenes/store-scene.js';

/** ms; an idle application needs a few, on a busy machine some hundred. */
const SOON = 10_000;

/** Accepts connections and never replies. */
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

/** A process exits on its own and without delay, whatever the state of its connection. */
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

  it('F51: a process exits on its own while it is connected', async () => {
    const { one } = await proxied();
    await ends(one);
  });

  it('F51: a process exits on its own right after its connection was cut and while the server accepts no new one', async () => {
    const { proxy, one } = await proxied();
    await proxy.refuse();
    proxy.cut();
    await ends(one);
  });

  it('F51: a process exits on its own while it reconnects after a cut', async () => {
    const { proxy, one } = await proxied();
    proxy.cut();
    await ends(one);
  });

  it('F51: a process exits on its own when its connection is silent', async () => {
    const { proxy, one } = await proxied();
    proxy.swallow('requests');
    proxy.swallow('replies');
    await ends(one);
  });

  it('F51: a process exits on its own while the server is stopped', async () => {
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
  ])('F51: a process exits on its own while it connects%s to a silent server', async (_, isSecure) => {
    const host = scene.endings.until(await new SilentServer().listen());
    const one = await worker(host.port, isSecure);
    await rejectionOf(one.do('acquire', { key: 'key', options: { waitTime: 0 } }));
    // An attempt ends after some seconds; wait for one that has just begun.
    const attempts = host.connections.length;
    await until('it connects again', () => host.connections.length > attempts);
    await ends(one);
    await until('its connections are closed', () => host.connections.every(({ destroyed }) => destroyed));
    // The one for requests, and the one for messages if there is one.
    expect(host.connections.length - attempts).toBeLessThanOrEqual(2);
  });
}
