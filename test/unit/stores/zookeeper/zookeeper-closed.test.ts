import { expect, it } from '@jest/globals';
import { JuteWriter } from '../../../../lib/stores/zookeeper/connection/protocol.js';
import { ZooKeeperConnection } from '../../../../lib/stores/zookeeper/connection/zookeeper-connection.js';
import { TestServer } from '../../../support/test-server.js';
import { rejectionOf, until, within } from '../../../support/until.js';

it('F51: no connection is opened after the end, which comes while the servers are asked for their tickTime', async () => {
  let isAsked = false;
  const server = await TestServer.start((socket) => {
    socket.on('data', (data) => {
      if (data.toString() === 'conf') isAsked = true;
      else
        socket.write(
          new JuteWriter().int(0).int(60_000).raw(Buffer.alloc(8, 1)).bytes(Buffer.alloc(16)).frame(),
        );
    });
  });
  const nothing = (): void => undefined;
  const connection = new ZooKeeperConnection(
    [{ host: '127.0.0.1', port: server.port }],
    { tls: undefined, auth: undefined, requestTimeout: 20_000 },
    undefined,
    () => 60_000,
    { prepare: () => Promise.resolve(), back: nothing, lost: nothing, event: nothing },
  );
  try {
    const failure = rejectionOf(connection.open());
    await until('it is asked', () => isAsked);
    const { length } = server.connections;
    await connection.close(true);
    await within(5_000, 'the end of the start', failure);
    expect(server.connections).toHaveLength(length);
  } finally {
    server.close();
  }
});
