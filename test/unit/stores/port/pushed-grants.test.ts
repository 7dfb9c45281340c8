import { describe, expect, it } from '@jest/globals';
import type { MonotonicMs, OwnerId, PushedGrant } from '../../../../lib/stores/port/index.js';
import { PushedGrants } from '../../../../lib/stores/port/pushed-grants.js';
import { idleClient } from '../../../support/idle-client.js';

const owner = 'client:1' as OwnerId;
/** µs, as the server's TIME returns it. */
const T0 = 1_795_000_000_000_000;

const at = (ms: number): MonotonicMs => ms as MonotonicMs;

/** Requested at 1,000 ms. */
const asked = (grants: PushedGrants): void => {
  grants.onAsk('key', owner, at(1_000));
};
const queued = (grants: PushedGrants): void => {
  asked(grants);
  grants.onQueued('key', owner, at(1_000), T0);
};

/** The grants that this message pushes at 1,500 ms. */
function pushedTo(prepare: (grants: PushedGrants) => void, message: string): PushedGrant[] {
  const received: PushedGrant[] = [];
  const client = {
    ...idleClient,
    now: () => at(1_500),
    granted: (_: OwnerId, grant: PushedGrant) => received.push(grant),
  };
  const grants = new PushedGrants(client);
  prepare(grants);
  grants.receive(message);
  return received;
}

describe('P13: a pushed lease on the local clock', () => {
  it('began no earlier than the request that was queued, plus what passed on the server since', () => {
    const facts = { token: 7, since: (T0 + 400_000) / 1000, tokens: 65, othersWait: true };
    expect(pushedTo(queued, `granted ${owner} 7 ${T0 + 400_000} 2000 65 1`)).toEqual([
      { ...facts, startedAt: 1_400, lease: 2_000 },
    ]);
  });

  it('began after the request was sent, if the grant is faster than the reply', () => {
    expect(pushedTo(asked, `granted ${owner} 7 ${T0} 2000 1 0`)).toMatchObject([{ startedAt: 1_000 }]);
  });

  it('F68: counts from the request if another server may have made the grant, whose clock differs', () => {
    const failedOver = (grants: PushedGrants): void => {
      queued(grants);
      grants.disconnected();
    };
    const message = `granted ${owner} 7 ${T0 + 400_000} 2000 1 0`;
    expect(pushedTo(failedOver, message)).toMatchObject([{ startedAt: 1_000 }]);
  });

  it('F31: does not begin in the future because the server clock jumped ahead', () => {
    const late = `granted ${owner} 7 ${T0 + 60_000_000} 2000 1 0`;
    expect(pushedTo(queued, late)).toMatchObject([{ startedAt: 1_500 }]);
  });

  it('is dropped when its owner no longer waits', () => {
    const left = (grants: PushedGrants): void => {
      asked(grants);
      grants.forget(owner);
    };
    expect(pushedTo(left, `granted ${owner} 7 ${T0} 2000 1 0`)).toEqual([]);
  });

  it('P41, F54: forgets the waiters of keys that another server of a cluster has', () => {
    const grants = new PushedGrants(idleClient);
    queued(grants);
    expect(grants.forgetUnless((key) => key === 'key')).toBe(false);
    expect(grants.knows(owner)).toBe(true);
    expect(grants.forgetUnless((key) => key !== 'key')).toBe(true);
    expect(grants.knows(owner)).toBe(false);
  });
});

describe('a foreign message', () => {
  it.each([
    `granted ${owner}`,
    `granted ${owner} x ${String(T0)} 2000 65 1`,
    `granted ${owner} 7 soon 2000 65 1`,
    `granted ${owner} 7 ${String(T0)} -2000 65 1`,
    `granted ${owner} 7 ${String(T0)} 2000 1e3 1`,
    `granted ${owner} 99999999999999999 ${String(T0)} 2000 65 1`,
  ])('B16: grants nothing: %s', (message) => {
    expect(pushedTo(queued, message)).toEqual([]);
  });
});
