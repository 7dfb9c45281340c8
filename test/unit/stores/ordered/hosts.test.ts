import { describe, expect, it } from '@jest/globals';
import { etcdStore } from '../../../../lib/stores/etcd/index.js';
import { zookeeperStore } from '../../../../lib/stores/zookeeper/index.js';

const stores: [string, (hosts: unknown) => { readonly name: string }, number][] = [
  ['etcdStore', (hosts) => etcdStore({ hosts: hosts as string }), 2_379],
  ['zookeeperStore', (hosts) => zookeeperStore({ hosts: hosts as string }), 2_181],
];

describe.each(stores)('hosts of %s', (where, open, port) => {
  /** Without the name of the store in front. */
  const addressesOf = (hosts: unknown): string[] =>
    open(hosts)
      .name.replace(/^.* at /, '')
      .split(/, ?/);

  it.each([['a:1,b:2'], [' a:1, b:2 '], [['a:1', 'b:2']], [['a:1', ' b:2', 'a:1']], ['a:1,b:2,a:1']])(
    'are a list, or a string with commas, and each server counts once: %j',
    (hosts) => {
      expect(addressesOf(hosts)).toEqual(['a:1', 'b:2']);
    },
  );

  it('have a default port, and brackets around IPv6', () => {
    expect(addressesOf('a, [::1], [fd00::1]:5')).toEqual([`a:${port}`, `[::1]:${port}`, '[fd00::1]:5']);
  });

  it.each([
    [undefined, /hosts is undefined.*set it, or write a value, such as/],
    [[], /hosts must name at least one server, as in .*got an array/],
    [7, /hosts must name at least one server, as in .*got 7/],
    [null, /hosts must name at least one server/],
    ['', /each of hosts must be 'host' or 'host:port'/],
    ['a,', /each of hosts must be/],
    [['a,b'], /each of hosts must be/],
    [['a', 7], /each of hosts must be .*got 7/],
    ['a:port', /each of hosts must be/],
    ['a/', /each of hosts must be/],
    ['::1', /each of hosts must be/],
    ['redis://a', /each of hosts must be/],
    ['a:0', /the port of a host must be from 1 to 65535; got 0/],
    ['a,b:70000', /the port of a host must be from 1 to 65535; got 70000/],
    ['shop:s3cr3t@a', /each of hosts must be .*User and password go into .*; got a string/],
  ])('are refused alike, without a password in the message: %j', (hosts, message) => {
    let shown = 'not refused';
    try {
      open(hosts);
    } catch (error) {
      shown = (error as Error).message;
    }
    expect(shown).toMatch(message);
    expect(shown).toContain(`${where}: `);
    expect(shown).not.toContain('s3cr3t');
  });
});
