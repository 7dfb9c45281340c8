import { expect, it } from '@jest/globals';
import { Endpoint, channelCredentials } from '../../../../lib/stores/etcd/connection/endpoint.js';
import { freePort } from '../../../support/free-port.js';
import { TestServer } from '../../../support/test-server.js';
import { elapse, rejectionOf, until } from '../../../support/until.js';

const to = (port: number): Endpoint =>
  new Endpoint(`127.0.0.1:${port}`, channelCredentials(undefined), undefined, 10_000);

/** Ends it some microtasks after it has begun to connect. */
async function giveUp(endpoint: Endpoint, ticks: number): Promise<void> {
  const opened = rejectionOf(endpoint.open(10_000));
  for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
  endpoint.cut(new Error('closed'));
  await opened;
}

it('F51: no connection to a silent server is left, however early the attempt was given up', async () => {
  const server = await TestServer.start();
  try {
    for (let ticks = 0; ticks < 30; ticks++) await giveUp(to(server.port), ticks);
    await until('no socket is left', () => !process.getActiveResourcesInfo().includes('TCPSocketWrap'));
  } finally {
    server.close();
  }
});

it('F51: gRPC connects once more, a second after its channel was closed, and that connection is closed, too', async () => {
  const port = await freePort();
  const early = giveUp(to(port), 0);
  const late = to(port);
  await rejectionOf(late.open(10_000));
  late.cut(new Error('closed'));
  await early;
  const server = await TestServer.start(undefined, port);
  try {
    await until('it connects once more', () => server.connections.length > 0);
    await until('it is closed', () => server.connections.every(({ destroyed }) => destroyed));
    // The attempt that was given up at once has no other one.
    await elapse(500);
    expect(server.connections.length).toBe(1);
  } finally {
    server.close();
  }
});
