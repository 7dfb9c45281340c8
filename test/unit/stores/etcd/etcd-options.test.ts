import { describe, expect, it } from '@jest/globals';
import { rootCertificates } from 'node:tls';
import { LockOptionsError } from '../../../../lib/index.js';
import { etcdStore } from '../../../../lib/stores/etcd/index.js';

function messageOf(options: unknown): string {
  try {
    etcdStore(options as Parameters<typeof etcdStore>[0]);
  } catch (error) {
    expect(error).toBeInstanceOf(LockOptionsError);
    return (error as LockOptionsError).message;
  }
  throw new Error('it was accepted');
}

const hosts = 'etcd:2379';

describe('options of etcdStore', () => {
  it('accept hosts with and without port and scheme, and connect to none before the module starts', () => {
    expect(etcdStore({ hosts: 'a' }).name).toBe('etcd at a:2379');
    expect(etcdStore({ hosts: ['a:1', 'http://b:80', '[::1]:5', 'a:1'] }).name).toBe(
      'etcd at a:1, b:80, [::1]:5',
    );
    expect(etcdStore({ hosts: 'https://a', tls: { ca: Buffer.from(rootCertificates[0] ?? '') } }).name).toBe(
      'etcd at a:2379',
    );
    expect(etcdStore({ hosts, username: 'shop', password: () => 's3cr3t' }).name).not.toContain('s3cr3t');
  });

  it.each<[unknown, RegExp]>([
    [undefined, /options must be an object/],
    [
      { hosts: 'http://a:1/path' },
      /must be 'host' or 'host:port', 'http:\/\/host:port', 'https:\/\/host:port'/,
    ],
    [{ hosts: ['http://a', 'https://b'] }, /all http:\/\/ or all https:\/\//],
    [{ hosts: 'http://shop:s3cr3t@a' }, /User and password go into username and password; got a string/],
    [{ hosts, host: 'a' }, /unknown option "host".*Known options are hosts/],
    [{ hosts, tls: 'yes' }, /tls must be true, false or an object/],
    [{ hosts: 'http://a', tls: true }, /tls is true, but the hosts are given as http:\/\//],
    [{ hosts: 'https://a', tls: false }, /tls is false, but the hosts are given as https:\/\//],
    [{ hosts: 'http://a', tls: {} }, /Write https:\/\//],
    [{ hosts, tls: { cert: 'PEM' } }, /cert and key belong together/],
    [{ hosts, tls: { ca: 5 } }, /tls\.ca must be PEM/],
    [{ hosts, tls: { ca: '/etc/ssl/ca.crt' } }, /tls\.ca can't be read as PEM.*not its path/],
    [{ hosts, tls: { cert: '/tls.crt', key: '/s3cr3t.key' } }, /tls\.cert can't be read as PEM/],
    [{ hosts, tls: { cert: rootCertificates[0], key: 's3cr3t' } }, /tls\.key can't be read as PEM/],
    [{ hosts, tls: { serverName: '' } }, /tls\.serverName must be a host name/],
    [{ hosts, tls: { pfx: 'PEM' } }, /unknown option "pfx"/],
    [{ hosts, username: 'shop' }, /belong together; password is undefined/],
    [{ hosts, password: 's3cr3t' }, /belong together; username is undefined/],
    [{ hosts, username: '', password: 's3cr3t' }, /username must be a non-empty string/],
    [{ hosts, username: 'shop', password: 5 }, /password must be a string, or a function/],
    [{ hosts, keyPrefix: '' }, /keyPrefix must have 1 to 256 bytes in UTF-8; got 0/],
    [{ hosts, keyPrefix: 'x'.repeat(257) }, /keyPrefix must have 1 to 256 bytes in UTF-8; got 257/],
    [{ hosts, keyPrefix: '\ud800' }, /keyPrefix must be a well-formed text/],
  ])('F40: %j is rejected with a remedy, and without secrets', (options, message) => {
    expect(messageOf(options)).toMatch(message);
    expect(messageOf(options)).not.toContain('s3cr3t');
  });
});
