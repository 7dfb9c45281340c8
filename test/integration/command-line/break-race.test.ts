import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { CommandLine, type Ended } from '../../support/command-line.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { TestFolder } from '../../support/test-folder.js';

const built = fileURLToPath(new URL('../../../dist/esm/index.js', import.meta.url));

/**
 * A store in which the lock `k` is held under token 17, and changes right after the first inspection. When it closes,
 it prints the token of the current hold.
 *
 * @param then the change: the hold ends (`free`), or another hold follows it (`taken`)
 */
function configOf(then: 'free' | 'taken'): string {
  return `
import { MemoryLockStore } from ${JSON.stringify(built)};

const locks = new MemoryLockStore();
const ignore = () => undefined;
const other = locks.open({ id: 'other', watchdogTimeout: 30_000, now: () => performance.now(), granted: ignore,
  heldByOthers: ignore, broken: ignore, pollNow: ignore, reconnected: ignore,
  locksLocally: ignore, warn: ignore });
const take = async (owner, token) => {
  const { token: granted } = await other.acquire({ key: 'k', owner, lease: 60_000, claimLease: 2_000, wait: false, callers: 1, tokens: 1,
    contended: false, limit: 1, label: undefined });
  await other.raise({ key: 'k', owner, granted, token, since: Date.now(), floor: token });
};
await take('other:1', 17);
let isFirst = true;
export default {
  store: {
    name: 'a store that changes',
    open(client) {
      const session = locks.open(client);
      const inspect = session.inspect.bind(session);
      session.inspect = async (key) => {
        const seen = await inspect(key);
        if (isFirst) {
          isFirst = false;
          await other.release({ key: 'k', owner: 'other:1', wasGranted: true, inDoubt: false });
          if (${JSON.stringify(then)} === 'taken') await take('other:2', 18);
        }
        return seen;
      };
      session.close = async () => {
        const lock = await other.inspect('k');
        process.stderr.write('held under ' + (lock === null ? 'none' : lock.holders[0].token) + '\\n');
      };
      return session;
    },
  },
};
`;
}

describe('O21, O25: break, when the hold ends after the first inspection', () => {
  const folder = new TestFolder();

  const breakIt = async (then: 'free' | 'taken'): Promise<Ended> => {
    const config = await folder.write(`${then}.mjs`, configOf(then));
    return await CommandLine.run(['break', 'k', '--token', '17', '--yes', '--config', config]);
  };

  it('does not break the next hold, and shows it', async () => {
    const { code, stdout, stderr } = await breakIt('taken');
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'held under 18\n' });
    expect(stdout).toMatch(
      /^k is not held under token 17, so nothing was broken\.\n {2}held by .*token 18, /,
    );
  });

  it('reports that the lock was released', async () => {
    const { code, stdout, stderr } = await breakIt('free');
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'held under none\n' });
    expect(stdout).toBe('k was released in the meantime; there was nothing to break.\n');
  });
});

describe('O21, O25: break, one of several holds', () => {
  const scene = new RedisScene();

  it('breaks one of them, and reports that the others remain', async () => {
    const app = await scene.app();
    const key = scene.key();
    const [one, two] = [
      await app.locks.acquire(key, { limit: 2, label: 'one' }),
      await app.locks.acquire(key, { limit: 2, label: 'two' }),
    ];
    const shown = await CommandLine.run(['show', key, '--redis', scene.url]);
    expect(shown.stdout).toContain(
      `to break the first of them: npx nestjs-distributed-lock break ${key} --token`,
    );
    const args = ['break', key, '--token', String(two.token), '--yes', '--redis', scene.url];
    const { code, stdout } = await CommandLine.run(args);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      new RegExp(
        `^${key} was broken\\.\\n  held by  \\S+ pid \\d+ \\("two"\\), token ${two.token}, .*\\n  1 other holder keeps it\\n$`,
      ),
    );
    expect(await two.release()).toBe('expired');
    expect(await one.release()).toBe('released');
  });
});
