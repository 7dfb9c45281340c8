import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import type { OwnerId } from '../../lib/index.js';
import { KeyNames } from '../../lib/stores/redis/scripts/key-names.js';
import { keySlot } from '../../lib/stores/redis/scripts/key-slot.js';
import { RedisServer } from '../support/redis-server.js';

const owner = '0b54ab0e-4b0c-4bd2-9d2b-6f9b6d4f8f4e:1' as OwnerId;

/** Keys of the characters that matter to names: braces, and the library's own marks. */
const key = fc
  .array(
    fc.constantFrom('{', '}', '@:', ':', 'a', 'b', '=', '#', 'queue:', 'waiters:', '\r\n', '\0', 'ü', '😀'),
    {
      minLength: 1,
      maxLength: 8,
    },
  )
  .map((parts) => parts.join(''));
const prefix = fc.constantFrom('lock:', '', '{app}:', 'a:{b}c', '@:');

function namesOf(prefixed: string, name: string): string[] {
  const names = new KeyNames(prefixed).of(name);
  return [names.lock, names.queue, names.waiters, names.gone(owner)];
}

describe('names in Redis', () => {
  it('B70, P2: the names of two keys never meet, and no key meets the fencing counter', () => {
    fc.assert(
      fc.property(prefix, key, key, (start, one, other) => {
        fc.pre(one !== other);
        const all = [...namesOf(start, one), ...namesOf(start, other), new KeyNames(start).fence(0)];
        expect(new Set(all).size).toBe(all.length);
      }),
      { numRuns: 5_000 },
    );
  });

  it('P3: in a cluster every slot has a counter and channels of its own, which lie in it', () => {
    fc.assert(
      fc.property(prefix, key, (start, name) => {
        const names = new KeyNames(start, true);
        const { lock } = names.of(name);
        const slot = names.slotOf(name);
        expect(slot).toBe(keySlot(lock));
        expect(keySlot(names.fence(slot))).toBe(slot);
        expect(keySlot(`${names.channels(slot)}client`)).toBe(slot);
        expect(keySlot(names.trial(slot, 'client'))).toBe(slot);
      }),
      { numRuns: 300 },
    );
  });

  it('B70: a key that looks like a name of the library does not meet it', () => {
    for (const start of ['lock:', '']) {
      for (const name of ['foo', 'a{b}c', 'x}y']) {
        const own = namesOf(start, name);
        for (const taken of [...own, new KeyNames(start).fence(0)]) {
          const imitation = taken.slice(start.length);
          if (imitation === name) continue;
          expect(own).not.toContain(new KeyNames(start).of(imitation).lock);
          expect(new KeyNames(start).of(imitation).lock).not.toBe(new KeyNames(start).fence(0));
        }
      }
    }
  });

  it('P2: all names of a lock lie in its hash slot, and a tag that Redis uses is kept', () => {
    fc.assert(
      fc.property(prefix, key, (start, name) => {
        const slots = namesOf(start, name).map(keySlot);
        expect(new Set(slots).size).toBe(1);
      }),
      { numRuns: 300 },
    );
    expect(new KeyNames('lock:').of('a{user}').queue).toBe('lock:@:queue:=a{user}');
    expect(new KeyNames('lock:').of('plain').queue).toBe('lock:@:queue:{lock:plain}');
  });

  describe('against the server', () => {
    let server: RedisServer;
    let redis: Redis;

    beforeAll(async () => {
      server = await RedisServer.start({ settings: { 'cluster-enabled': 'yes' } });
      redis = server.client();
    });

    afterAll(async () => {
      redis.disconnect();
      await server.close();
    });

    it('P2: the hash slot is the one that Redis computes', async () => {
      await fc.assert(
        fc.asyncProperty(key, async (name) => {
          expect(keySlot(name)).toBe(await redis.cluster('KEYSLOT', name));
        }),
        { numRuns: 300 },
      );
    });
  });
});
