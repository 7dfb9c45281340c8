import { DetachedContext } from '../common/detached-context.js';
import { Deferred, whenReplied } from '../common/deferred.js';
import { requestChannel, type StoreOperation, type StoreRequestMessage } from '../model/lock-channels.js';
import { forwardedBoard } from '../stores/port/forwarding-session.js';
import type { LockStore, LockStoreClient, LockStoreSession, NamedHold } from '../stores/port/lock-store.js';
import { storeFailure } from '../stores/port/store-failure.js';

/**
 * Opens a session that runs in the async context of the module instead of that of a request: it opens connections and starts
 * timers when they are first needed, and batches requests of several callers. Requests are measured here.
 *
 * @param instance the name of the module instance, for instruments
 */
export function openInContext(
  store: LockStore,
  client: LockStoreClient,
  instance?: string,
): LockStoreSession {
  const context = new DetachedContext();
  const session = context.run(() => store.open(client));
  const inside =
    <A, R extends PromiseLike<unknown>>(operation: StoreOperation, request: (argument: A) => R) =>
    (argument: A): R | Promise<never> => {
      try {
        return requestChannel.hasSubscribers
          ? measured<R>(() => context.call(request, argument), operation, instance)
          : context.call(request, argument);
      } catch (error) {
        // A user's store may throw instead of reject.
        const failed: Promise<never> = Promise.reject(storeFailure(error));
        return failed;
      }
    };
  const { board } = session;
  const toVerify = session.verify?.bind(session);
  const verify = toVerify && inside('verify', (_: undefined) => toVerify());
  const toBreakHold = session.breakHold?.bind(session);
  const breakHold =
    toBreakHold &&
    inside('force-release', ({ key, hold }: { readonly key: string; readonly hold: NamedHold }) =>
      toBreakHold(key, hold),
    );
  return {
    get description() {
      return session.description;
    },
    get remainingIsBound() {
      return session.remainingIsBound;
    },
    get longestUnrenewed() {
      return session.longestUnrenewed;
    },
    start: () => context.run(() => session.start()),
    acquire: inside('acquire', (request) => session.acquire(request)),
    cancel: inside('cancel', (request) => session.cancel(request)),
    release: inside('release', (request) => session.release(request)),
    renew: inside('renew', (requests) => session.renew(requests)),
    inspect: inside('inspect', (key) => session.inspect(key)),
    forceRelease: inside('force-release', (key) => session.forceRelease(key)),
    close: () => context.run(() => session.close()),
    // The engine does without what a store leaves out.
    ...(breakHold && { breakHold: (key, hold) => breakHold({ key, hold }) }),
    ...(session.connections && { connections: session.connections.bind(session) }),
    ...(session.listKeys && { listKeys: inside('list-keys', session.listKeys.bind(session)) }),
    ...(verify && { verify: async () => await verify(undefined) }),
    ...(board && { board: forwardedBoard((request) => context.run(() => request(board))) }),
    ...(session.whyTooLong && { whyTooLong: session.whyTooLong.bind(session) }),
    ...(session.whenSent && { whenSent: session.whenSent.bind(session) }),
    ...(session.reserve && { reserve: inside('reserve', session.reserve.bind(session)) }),
    ...(session.raise && { raise: inside('raise', session.raise.bind(session)) }),
    ...(session.acquireAll && { acquireAll: inside('acquire-all', session.acquireAll.bind(session)) }),
  };
}

/** Publishes how long a request took. */
function measured<R extends PromiseLike<unknown>>(
  request: () => R,
  operation: StoreOperation,
  instance: string | undefined,
): R {
  const startedAt = performance.now();
  const tell = (error?: unknown): void => {
    const duration = performance.now() - startedAt;
    requestChannel.publish({ instance, operation, duration, error } satisfies StoreRequestMessage);
  };
  const reply = request();
  // A pending reply has one listener, the engine's.
  const relay = reply instanceof Deferred ? new Deferred<unknown>() : undefined;
  whenReplied<unknown>(
    reply,
    (value) => {
      tell();
      relay?.resolve(value);
    },
    (error) => {
      tell(error);
      relay?.reject(error);
    },
  );
  return (relay ?? reply) as R;
}
