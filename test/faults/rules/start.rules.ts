import { expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { LockUnavailableError } from '../../../lib/index.js';
import type { LockStore } from '../../../lib/stores/port/index.js';
import type { Endings } from '../../support/endings.js';
import { freePort } from '../../support/free-port.js';
import { LockApp } from '../../support/lock-app.js';
import { reached } from '../../support/reached.js';
import { rejectionOf, until } from '../../support/until.js';

/** Stores configured for servers with different requirements. */
export interface StartScene {
  readonly endings: Endings;
  /** A store on a server without authentication. */
  plain(): Promise<LockStore>;
  /** The log line about that server. */
  readonly version: RegExp;
  /** On a server with TLS: stores that trust its certificate, and stores that do not. */
  secure(): Promise<Record<'trusting' | 'distrustful', readonly LockStore[]>>;
  /** On a server with authentication: stores that are accepted, and stores that are rejected, with the remedy in the log. */
  guarded(): Promise<{
    readonly welcome: readonly LockStore[];
    readonly refused: readonly (readonly [store: LockStore, remedy: RegExp])[];
    /** A text that must not be disclosed. */
    readonly secret: string;
  }>;
  /** Stores with different prefixes on one server. */
  apart(): Promise<readonly [LockStore, LockStore]>;
  /** A store whose server does not run. */
  nowhere(port: number): LockStore;
}

/** What an application checks and logs when it starts. */
export function startRules(scene: StartScene): void {
  const start = async (store: LockStore): Promise<LockApp> =>
    scene.endings.app(await LockApp.start({ store, shutdownTimeout: 50 }));
  const use = async ({ locks }: LockApp): Promise<void> => {
    const once = async (): Promise<string> => {
      const handle = await locks.acquire('used', { waitTime: 15_000 });
      expect(await reached(() => locks.isLocked('used'))).toBe(true);
      return await handle.release();
    };
    // A busy server may time out.
    await until('the lock is used', async () => (await once()) === 'released', { deadline: 60_000 });
  };
  const refusalOf = async ({ locks }: LockApp): Promise<unknown> => {
    const error = await rejectionOf(locks.acquire('refused', { waitTime: 500 }));
    expect(error).toBeInstanceOf(LockUnavailableError);
    return error;
  };

  it('logs the version of the server', async () => {
    const app = await start(await scene.plain());
    expect(app.log.matching(scene.version)).toHaveLength(1);
    await use(app);
  });

  it('B6: with requireStoreAtStart, an application starts only if its store is fit for locks', async () => {
    const required = (store: LockStore): Promise<LockApp> =>
      LockApp.start({ store, shutdownTimeout: 50, requireStoreAtStart: true });
    const { welcome, refused } = await scene.guarded();
    for (const store of welcome) await use(scene.endings.app(await required(store)));
    for (const store of [scene.nowhere(await freePort()), ...refused.map(([each]) => each)]) {
      const error = await rejectionOf(required(store));
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect((error as Error).message).toContain('requireStoreAtStart is set: ');
    }
  });

  it('uses TLS, and trusts only the configured authorities', async () => {
    const { trusting, distrustful } = await scene.secure();
    for (const store of trusting) await use(await start(store));
    for (const store of distrustful) await refusalOf(await start(store));
  });

  it('F9: reports which rights a user lacks, or that the password is wrong, without the password', async () => {
    const { welcome, refused, secret } = await scene.guarded();
    for (const store of welcome) await use(await start(store));
    for (const [store, remedy] of refused) {
      const app = await start(store);
      const isReported = async (): Promise<boolean> => {
        const error = await refusalOf(app);
        const words = [
          ...app.log.lines.map(({ message }) => message),
          inspect(error, { depth: 20 }),
          JSON.stringify(error),
        ].join('\n');
        expect(words).not.toContain(secret);
        return remedy.test(words);
      };
      // A busy server may take longer to reply.
      await until('it is reported', isReported, { deadline: 60_000 });
    }
  });

  it('keeps locks of different prefixes apart', async () => {
    const [one, other] = await scene.apart();
    const app = await start(one);
    const handle = await app.locks.acquire('used');
    await use(await start(other));
    expect(handle.isHeld).toBe(true);
    expect(await handle.release()).toBe('released');
  });

  it('B14: no timer outlives an application that is still trying to connect', async () => {
    const timers = (): number =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = timers();
    const app = await start(scene.nowhere(await freePort()));
    await refusalOf(app);
    await app.close();
    expect(timers()).toBeLessThanOrEqual(before);
  });
}
