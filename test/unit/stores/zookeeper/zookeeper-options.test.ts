import { ZooKeeperError } from '../../../../lib/stores/zookeeper/connection/zookeeper-failure.js';
import { describe, expect, it } from '@jest/globals';
import { createSecureContext } from 'node:tls';
import { LockOptionsError } from '../../../../lib/index.js';
import { zookeeperStore } from '../../../../lib/stores/zookeeper/index.js';
import { resolveZooKeeperOptions } from '../../../../lib/stores/zookeeper/zookeeper-options.js';
import {
  goneAfter,
  longestLease,
  tickOf,
  timeoutForLease,
} from '../../../../lib/stores/zookeeper/connection/zookeeper-connection.js';
import { pingInterval } from '../../../../lib/stores/zookeeper/connection/zookeeper-socket.js';

/** The error for options that can't work. */
function messageOf(options: unknown): string {
  try {
    zookeeperStore(options as Parameters<typeof zookeeperStore>[0]);
  } catch (error) {
    if (error instanceof LockOptionsError) return error.message;
    throw error;
  }
  throw new Error('not rejected');
}

const hosts = 'zk1:2181';

describe('options of zookeeperStore', () => {
  it('create nodes open to everyone only if the application has no identity', () => {
    const auth = { user: 'shop', password: 's3cr3t' };
    const secureContext = createSecureContext();
    const schemeOf = (options: object): string => resolveZooKeeperOptions({ hosts, ...options }).acl.scheme;
    expect([{}, { tls: true }, { tls: {} }].map(schemeOf)).toEqual(['world', 'world', 'world']);
    const known = [
      { auth },
      { auth, tls: { secureContext } },
      { tls: { secureContext, cert: 'a certificate' } },
      { tls: { secureContext, pfx: 'a certificate and its key' } },
    ];
    expect(known.map(schemeOf)).toEqual(known.map(() => 'auth'));
    expect(messageOf({ hosts, tls: { secureContext } })).toMatch(/secureContext .*Give ca, cert and key/);
  });

  it.each([
    [null, /options must be an object; got null/],
    [{ hosts: 'zk1:2181/shop' }, /The node below which locks are kept goes into path/],
    [{ hosts, path: 'locks' }, /path must be an absolute path.*got 'locks'/],
    [{ hosts, path: '/locks/' }, /without a slash at its end/],
    [{ hosts, path: '/a/../b' }, /path must be/],
    [{ hosts, path: '/zookeeper/locks' }, /not below \/zookeeper/],
    [{ hosts, sessionTimeout: 10 }, /sessionTimeout must be a number of milliseconds from 1000/],
    [{ hosts, tickTime: 0 }, /tickTime must be a whole number from 1 to 60000/],
    [{ hosts, auth: 'shop:s3cr3t' }, /auth: must be \{ user, password \}; got a string/],
    [{ hosts, auth: { user: 'a:b', password: 's3cr3t' } }, /user must be a string without a colon/],
    [{ hosts, auth: { user: 'shop', password: '' } }, /password must be a non-empty string/],
    [{ hosts, tls: 'yes' }, /tls: options must be an object/],
    [{ hosts: 'shop:s3cr3t@zk1' }, /each of hosts must be.*User and password go into auth; got a string/],
    [{ hosts: ['zk1', 'zk2/s3cr3t'] }, /goes into path; got a string/],
    [
      { hosts, auth: { user: 'shop:s3cr3t', password: 'x' } },
      /user must be a string without a colon; got a string/,
    ],
    [
      { hosts, tls: { ca: 's3cr3t.pem', cert: 's3cr3t.pem' } },
      /tls can't be used \(.*as the contents of PEM files/,
    ],
    [{ hosts, tls: { cert: '-----BEGIN CERTIFICATE-----\ns3cr3t' } }, /tls can't be used/],
    [{ hosts, tls: { key: '-----BEGIN PRIVATE KEY-----\ns3cr3t' } }, /tls can't be used/],
    [{ hosts, chroot: '/locks' }, /unknown option "chroot"/],
  ])('reject %j with a remedy', (options, message) => {
    const shown = messageOf(options);
    expect(shown).toMatch(message);
    expect(shown).not.toContain('s3cr3t');
  });

  const leases = [300, 1_000, 5_000, 9_000, 30_000, 60_000, 3_600_000];

  it.each(leases)('request a session that keeps a lease of %d ms without contact', (lease) => {
    for (const tick of [20, 200, 2_000]) {
      const timeout = timeoutForLease(lease, tick);
      expect(longestLease({ timeout, tick })).toBeGreaterThanOrEqual(lease);
    }
  });

  it('end the longest lease before the leader can end the session, even by a slower clock', () => {
    for (const tick of [50, 200, 2_000, 6_000]) {
      // Servers grant between two and twenty ticks.
      for (const ticks of [2, 2.5, 5, 20]) {
        const timeout = tick * ticks;
        // The last contact of the leader may be half a tick and a ping before the last reply.
        const leaderCountsFor = timeout - tick / 2 - pingInterval(timeout);
        expect(longestLease({ timeout, tick }) * 1.02).toBeLessThan(leaderCountsFor);
      }
    }
  });

  it.each(leases)('free the locks of a dead process within 1.5 times a lease of %d ms', (lease) => {
    const tick = lease / 5;
    expect(goneAfter({ timeout: timeoutForLease(lease, tick), tick })).toBeLessThanOrEqual(lease * 1.5 + 2);
  });

  it.each([
    ['what the servers report, even if another one is set', { told: 200 }, 2_000, 200],
    ['the one that is set', {}, 200, 200],
    ['the usual one, where the limits of sessions could be those of a shorter one', {}, undefined, 2_000],
    ['the one of their shortest session', { byShortest: 3_000 }, undefined, 3_000],
    [
      'the one of their longest session, where minSessionTimeout is low',
      { byLongest: 5_000 },
      undefined,
      5_000,
    ],
    ['no more than usual, where maxSessionTimeout is high', { byLongest: 90_000 }, undefined, 6_000],
  ])('B22: rely on a tickTime of %s', (_, shown, set, tick) => {
    expect(tickOf({ told: undefined, byShortest: 200, byLongest: 200, ...shown }, set)).toBe(tick);
  });
});

it('local sessions, which can hold no locks, are named with a remedy, and the request is not repeated', () => {
  const error = new ZooKeeperError(-120);
  expect(error).toMatchObject({ retryable: false, inDoubt: false });
  expect(error.advice).toMatch(/local session \(-120\)".*localSessionsUpgradingEnabled=true/);
});
