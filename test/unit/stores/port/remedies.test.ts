import { describe, expect, it } from '@jest/globals';
import { adviceOn, connectionRemedies, type Remedy } from '../../../../lib/stores/port/store-failure.js';
import { etcdRemedies } from '../../../../lib/stores/etcd/connection/etcd-failure.js';
import { postgresRemedies } from '../../../../lib/stores/postgres/postgres-failure.js';
import { redisRemedies } from '../../../../lib/stores/redis/connection/redis-failure.js';
import { zooKeeperRemedies } from '../../../../lib/stores/zookeeper/connection/zookeeper-failure.js';

const STORES: Readonly<Record<string, readonly Remedy[]>> = {
  'any store': connectionRemedies,
  Redis: redisRemedies,
  PostgreSQL: postgresRemedies,
  etcd: etcdRemedies,
  ZooKeeper: zooKeeperRemedies,
};

/** Words of messages, for each remedy in its order. */
const MESSAGES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'any store': [
    ['ENOTFOUND', 'EAI_AGAIN', 'Name resolution failed'],
    ['ECONNREFUSED'],
    ['certificate', 'self-signed', 'unable to verify'],
    ['EPROTO', 'wrong version number', 'packet length too long', 'SSL', 'TLS'],
    ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'no answer', "can't be reached"],
    ['ECONNRESET', 'EPIPE', 'closed', 'terminated'],
  ],
  Redis: [
    ['NOPERM', "ERR The user executing the script can't run this command or subcommand"],
    ['WRONGPASS', 'NOAUTH'],
    ['ERR DB index is out of range'],
    ['LOADING'],
    ['max number of clients'],
    ['protected mode'],
    ['All sentinels are unreachable'],
    ['OOM'],
    ['READONLY'],
    ['MISCONF'],
    ['NOREPLICAS'],
    ['CLUSTERDOWN', 'MASTERDOWN'],
    ['ERR This instance has cluster support disabled'],
    ['the Cluster knows no address of a server'],
    ['CROSSSLOT', 'MOVED'],
  ],
  PostgreSQL: [
    ['28P01', '28000'],
    ['42501'],
    ['25006', 'is a standby'],
    ['53100'],
    ['53200'],
    ['53300'],
    ['3D000'],
    ['3F000', '42704', '42883', '42P01'],
    ['22P05', '22021'],
    ['max_client_conn', 'query_wait_timeout'],
    ['no answer within'],
    ['The server does not support SSL connections'],
  ],
  etcd: [
    ['permission denied'],
    ['user name is empty'],
    ['authentication failed', 'invalid auth token'],
    ['mvcc: database space exceeded'],
    ['no leader'],
    ['request timed out'],
  ],
  ZooKeeper: [
    ['no node (-101)'],
    ['no auth (-102)'],
    ['auth failed (-115)'],
    ['unimplemented (-6)'],
    ['invalid ACL (-114)'],
    ['local session (-120)'],
    ['before it opened a session'],
    ['quota exceeded (-125)'],
  ],
};

describe('the advice by cause', () => {
  it.each(Object.keys(STORES))('follows from the message (%s)', (store) => {
    const remedies = STORES[store] ?? [];
    const found = MESSAGES[store]?.map((messages) =>
      messages.map((message) => adviceOn(message, store === 'any store' ? [] : remedies)),
    );
    expect(found).toEqual(
      remedies.map(({ advice }, index) => MESSAGES[store]?.[index]?.map(() => advice) ?? [advice]),
    );
  });

  it.each([
    ['Redis', 'getaddrinfo ENOTFOUND database.example', /name of the host is not known/],
    ['Redis', 'getaddrinfo EAI_AGAIN sentinel.example', /name of the host is not known/],
    [
      'Redis',
      "Hostname/IP does not match certificate's altnames: Host: database.example. is not in the cert's altnames",
      /trust the certificate/,
    ],
    ['PostgreSQL', 'getaddrinfo ENOTFOUND standby.example', /name of the host is not known/],
    ['PostgreSQL', 'database "standby" does not exist 3D000', /Create the database/],
  ])('does not depend on names (%s: %s)', (store, message, advice) => {
    expect(adviceOn(message, STORES[store] ?? [])).toMatch(advice);
  });
});
