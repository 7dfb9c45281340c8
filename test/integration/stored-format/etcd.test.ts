import { etcdStore } from '../../../lib/stores/etcd/index.js';
import { methods } from '../../../lib/stores/etcd/connection/protocol.js';
import { EtcdServer } from '../../support/etcd-server.js';
import { whereThereIsEtcd } from '../../support/where-there-is.js';
import { unknownFormatRules } from './unknown-format.rules.js';

whereThereIsEtcd('etcd: the format of its locks', () => {
  unknownFormatRules('etcd', async () => {
    const server = await EtcdServer.start();
    const client = server.client();
    await client.open(5_000);
    const put = { do: 'put', key: 'distributed-lock/format', value: '2 3.0.0', lease: 0 } as const;
    await client.call(methods.transaction, { do: 'txn', then: [put] });
    return {
      module: { store: etcdStore({ hosts: [server.address] }) },
      names: async () => {
        const { reply } = await client.call(methods.range, { do: 'range', key: '\0', end: '\0' });
        return reply.entries.map(({ key }) => key);
      },
      close: () => server.close(),
    };
  });
});
