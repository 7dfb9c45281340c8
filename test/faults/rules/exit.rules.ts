import { expect, it } from '@jest/globals';
import type { TcpProxy } from '../../support/tcp-proxy.js';
import { TestServer } from '../../support/test-server.js';
import { rejectionOf, until } from '../../support/until.js';
import type { WorkerProcess } from '../../support/worker-process.js';
import type { StoreScene } from '../scenes/store-scene.js';

/** ms; an idle application needs a few, on a busy machine some hundred. */
const SOON = 10_000;

/** A process exits on its own and without delay, whatever the state of its connection. */
export function exitRules(scene: StoreScene): void {
  const worker = (port: number, isSecure = false): Promise<WorkerProcess> =>
    scene.worker({ ...scene.workerOptions(port, isSecure), shutdownTimeout: 100 });
  const proxied = async (): Promise<{ proxy: TcpProxy; one: WorkerProcess }> => {
    const proxy = await scene.proxy();
    const one = await worker(proxy.port);
    await one.do('acquire', { key: scene.key() });
    return { proxy, one };
  };
  const ends = async (one: WorkerProcess): Promise<void> => {
    expect(await one.closeAndExit(SOON)).toBe(0);
    if (scene.closesAtOnce) expect(one.keptOpen).toEqual([]);
  };

  it.each<[string, (proxy: TcpProxy) => unknown]>([
    ['while it is connected', () => undefined],
    [
      'right after its connection was cut and while the server accepts no new one',
      async (proxy) => {
        await proxy.refuse();
        proxy.cut();
      },
    ],
    ['while it reconnects after a cut', (proxy) => proxy.cut()],
    [
      'when its connection is silent',
      (proxy) => {
        proxy.swallow('requests');
        proxy.swallow('replies');
      },
    ],
  ])('F51: a process exits on its own %s', async (_, happens) => {
    const { proxy, one } = await proxied();
    await happens(proxy);
    await ends(one);
    await scene.deleteLocks();
  });

  it('F51: a process exits on its own while the server is stopped', async () => {
    const { one } = await proxied();
    await scene.server.stop();
    try {
      await ends(one);
    } finally {
      await scene.server.resume();
    }
    await scene.deleteLocks();
  });

  it.each([
    ['', false],
    [' by TLS', true],
  ])('F51: a process exits on its own while it connects%s to a silent server', async (_, isSecure) => {
    const host = scene.endings.until(await TestServer.start());
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
