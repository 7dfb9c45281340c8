import { describe } from '@jest/globals';
import { join } from 'node:path';
import { etcdStore } from '../../lib/stores/etcd/index.js';
import { Endings } from '../support/endings.js';
import { EtcdServer } from '../support/etcd-server.js';
import { whereThereIsEtcd } from '../support/where-there-is.js';
import { certificateRules } from './rules/certificates.rules.js';

whereThereIsEtcd('certificates of etcd', () => {
  const endings = new Endings();

  describe('getters in the options of etcd', () => {
    certificateRules({
      endings,
      start: async (directory) => {
        const file = (name: string): string => join(directory, name);
        const files = [`--cert-file=${file('server.crt')}`, `--key-file=${file('server.key')}`];
        const clients = ['--client-cert-auth', `--trusted-ca-file=${file('ca.crt')}`];
        const server = await EtcdServer.start({ tls: true, flags: [...files, ...clients] });
        // etcd reads its certificate at each handshake.
        return { port: server.port, reload: () => Promise.resolve(), close: () => server.close() };
      },
      expired: /certificate/,
      keepsFormer: false,
      options: (port, tls) => ({ store: etcdStore({ hosts: `https://127.0.0.1:${String(port)}`, tls }) }),
    });
  });
});
