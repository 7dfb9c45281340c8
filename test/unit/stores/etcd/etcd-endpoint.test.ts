import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Endpoint, channelCredentials } from '../../../../lib/stores/etcd/connection/endpoint.js';
import { TestServer } from '../../../support/test-server.js';
import { rejectionOf, until } from '../../../support/until.js';

it('F51: no connection to a silent server is left, however early the attempt was given up', async () => {
  const server = await TestServer.start();
  const address = `127.0.0.1:${server.port}`;
  try {
    for (let ticks = 0; ticks < 30; ticks++) {
      const endpoint = new Endpoint(address, channelCredentials(undefined), undefined, 10_000);
      const opened = rejectionOf(endpoint.open(10_000));
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
      endpoint.cut(new Error('closed'));
      expect(await opened).toMatchObject({ message: expect.stringContaining('(closed)') });
    }
    // The server accepts connections in their order: all of theirs before this one.
    const last = connect(server.port, '127.0.0.1');
    await once(last, 'connect');
    await until('it is accepted', () => server.connections.some((one) => one.remotePort === last.localPort));
    last.destroy();
    await until('all are closed', () => server.connections.every(({ destroyed }) => destroyed));
  } finally {
    server.close();
  }
});
