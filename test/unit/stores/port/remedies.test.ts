import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
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

/** Rows of the table in the documentation: the store, words of the message, the advice. */
const rows = readFileSync(
  new URL('../../../../docs/operations/troubleshooting/advice.md', import.meta.url),
  'utf8',
)
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (-|store )/.test(line))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));

describe('the advice by cause', () => {
  it('is listed in the documentation completely', () => {
    const documented = rows.map(([store = '', , advice = '']) => `${store}: ${advice}`);
    const known = Object.entries(STORES).flatMap(([store, remedies]) =>
      remedies.map(({ advice }) => `${store}: ${advice}`),
    );
    expect(documented).toEqual(known);
  });

  it('belongs to the messages that the documentation names', () => {
    for (const [store = '', causes = '', advice = ''] of rows) {
      const messages = [...causes.matchAll(/`([^`]+)`/g)].map(([, message = '']) => message);
      expect(messages).not.toEqual([]);
      for (const message of messages) {
        expect({
          message,
          advice: adviceOn(message, store === 'any store' ? [] : (STORES[store] ?? [])),
        }).toEqual({
          message,
          advice,
        });
      }
    }
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
