import { describe, expect, it } from '@jest/globals';
import type { Hold } from '../../../../lib/engine/hold.js';
import { LockService } from '../../../../lib/index.js';
import { LockStoreError, type LockStore, type LockStoreSession } from '../../../../lib/stores/port/index.js';
import { FallbackLockStore } from '../../../../lib/stores/fallback/fallback-lock-store.js';
import { CircuitBreaker } from '../../../../lib/stores/fallback/circuit-breaker.js';
import { SessionTimers } from '../../../../lib/stores/port/times.js';
import { PortClient } from '../../../contract/port-client.js';
import { AwayStore } from '../../../support/away-store.js';
import { Endings } from '../../../support/endings.js';
import { engineOn } from '../../../support/engines.js';
import { idleClient } from '../../../support/idle-client.js';
import { inVirtualTime } from '../../../support/in-virtual-time.js';
import { until } from '../../../support/until.js';
import { comeBack, goLocal } from './outage.js';

inVirtualTime();

const unreachable = new LockStoreError('no server', { inDoubt: false, retryable: true, unreachable: true });

/** The private state that a session keeps of owners: the only way to see that nothing is kept. */
interface Kept {
  readonly local: {
    readonly owners: ReadonlyMap<string, unknown>;
    readonly locks: { readonly holds: ReadonlyMap<string, unknown> };
  };
  readonly asking: ReadonlyMap<string, unknown>;
}

/** A store that shows what its sessions keep. */
class OpenedStore implements LockStore {
  readonly name = 'a store that may be away';
  private readonly sessions: Kept[] = [];

  constructor(private readonly store: LockStore) {}

  open(client: Parameters<LockStore['open']>[0]): LockStoreSession {
    const session = new FallbackLockStore(this.store).open(client);
    this.sessions.push(session as unknown as Kept);
    return session;
  }

  /** How many owners each part of the first session keeps. */
  get kept(): Record<string, number> {
    const [session] = this.sessions;
    if (session === undefined) throw new Error('no session is open');
    const { local, asking } = session;
    return {
      local: local.owners.size,
      holds: local.locks.holds.size,
      asking: asking.size,
    };
  }
}

const nothing = { local: 0, holds: 0, asking: 0 };

describe('what the session with a fallback keeps of former owners', () => {
  const endings = new Endings();

  async function open(): Promise<[PortClient, AwayStore, OpenedStore]> {
    const away = new AwayStore();
    const store = new OpenedStore(away);
    return [endings.app(await PortClient.open(store)), away, store];
  }

  it('B65: an attempt that finds the lock busy, because a local caller acquired it meanwhile, is forgotten', async () => {
    const [client, store, opened] = await open();
    let resume: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (resume = resolve));
    store.gate = gate;
    const [late, holder] = [client.newOwner(), client.newOwner()];
    const answer = client.acquire('key', late);
    store.gate = undefined;
    await goLocal(client, store);
    await client.take('key', holder);
    await comeBack(client, store);
    resume();
    expect(await answer).toMatchObject({ outcome: 'busy' });
    await until('it is withdrawn', () => store.doubts.includes(late));
    await client.release('key', holder);
    expect(opened.kept).toEqual(nothing);
    expect(await store.inside.open(idleClient).inspect('key')).toBeNull();
  });

  it('B65: an attempt whose local grant comes at the moment the store is back is forgotten', async () => {
    const outcomes = new Set<string>();
    for (let turns = 0; turns < 20; turns++) {
      const [client, store, opened] = await open();
      await goLocal(client, store);
      store.comeBack();
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      const owner = client.newOwner();
      const { outcome } = await client.acquire('key', owner);
      outcomes.add(outcome);
      if (outcome === 'granted') await client.release('key', owner);
      expect(opened.kept).toEqual(nothing);
    }
    expect([...outcomes].sort()).toEqual(['cancelled', 'granted']);
  });

  it('B65: a local grant that is pushed at the moment the store is back is forgotten', async () => {
    const arePushed = new Set<boolean>();
    for (let turns = 0; turns < 20; turns++) {
      const [client, store, opened] = await open();
      await goLocal(client, store);
      const [holder, queued] = [client.newOwner(), client.newOwner()];
      await client.take('key', holder);
      await client.acquire('key', queued, { wait: true });
      const released = (async () => {
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        await client.release('key', holder);
      })();
      store.comeBack();
      await released;
      const isPushed = client.grants.length > 0;
      arePushed.add(isPushed);
      expect(opened.kept).toMatchObject({ holds: isPushed ? 1 : 0 });
      await client.release('key', queued);
      expect(opened.kept).toEqual(nothing);
    }
    expect(arePushed.size).toBe(2);
  });

  it('B65: a local hold whose reservation finds it gone is forgotten', async () => {
    const [client, store, opened] = await open();
    await goLocal(client, store);
    const owner = client.newOwner();
    await client.take('key', owner);
    await client.forceRelease('key');
    const request = { key: 'key', owner, lease: 5_000, tokens: 3 };
    expect(await client.reserve(request)).toEqual({ outcome: 'gone' });
    expect(opened.kept).toEqual(nothing);
  });
});

describe('a local hold that the process outlived', () => {
  it('B65: leaves nothing when the next caller acquires the lock before its end is noticed', async () => {
    const away = new AwayStore();
    const store = new OpenedStore(away);
    const engine = engineOn(store, { watchdogTimeout: 1_000 });
    const locks = new LockService(engine, 5_000);
    try {
      await engine.start();
      away.goAway();
      const handle = await locks.acquire('key');
      expect(handle.local).toBe(true);
      // What the queue of the key does when the lock is granted again before the timer fires.
      engine.tickets.supersede((handle as Hold).ticket);
      expect(handle.isHeld).toBe(false);
      expect(store.kept).toEqual(nothing);
    } finally {
      await engine.close();
    }
  });
});

describe('an outage', () => {
  it('B65: ends as well if it begins at the moment the last one ends', async () => {
    const store = new AwayStore();
    const session = store.open(idleClient);
    const changes: string[] = [];
    let isFirst = true;
    const breaker: CircuitBreaker = new CircuitBreaker(
      session,
      idleClient.now,
      new SessionTimers(idleClient).retry,
      () => void changes.push('local'),
      () => {
        changes.push('back');
        if (!isFirst) return;
        isFirst = false;
        // A listener requests a lock at once, and the store is unreachable again.
        store.goAway();
        breaker.open(unreachable);
      },
      () => Promise.resolve(),
    );
    try {
      breaker.open(unreachable);
      breaker.onReconnect();
      await until('it has begun again', () => changes.length === 3);
      expect(changes).toEqual(['local', 'back', 'local']);
      store.comeBack();
      await until('the outage is over', () => !breaker.isOpen);
      expect(changes).toEqual(['local', 'back', 'local', 'back']);
    } finally {
      breaker.stop();
    }
  });
});
