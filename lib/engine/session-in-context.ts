import { detachedContext } from '../common/detached-context.js';
import { Deferred, whenReplied } from '../common/deferred.js';
import { requestChannel, type StoreRequestKind, type StoreRequestMessage } from '../model/lock-channels.js';
import type { LockStore, LockStoreClient, LockStoreSession } from '../stores/port/lock-store.js';
import { storeFailure } from '../stores/port/store-failure.js';

/**
 * Opens a session that runs in the async context of the module instead of that of a request: it opens connections and
 * starts timers on demand, and batches requests of several callers. Requests are measured here.
 *
 * @param instance the name of the module instance, for instruments
 */
export function openInContext(
  store: LockStore,
  client: LockStoreClient,
  instance?: string,
): LockStoreSession {
  const session = detachedContext.run(() => store.open(client));
  /** The request, which then runs in the context of the module, and is measured as this kind. */
  const inside = <A, R, B = undefined>(
    kind: StoreRequestKind,
    request: (one: A, two: B) => PromiseLike<R>,
  ): ((one: A, two?: B) => Promise<R>) => {
    const send = (one: A, two?: B): PromiseLike<R> => {
      try {
        return requestChannel.hasSubscribers
          ? measured(() => detachedContext.call(request, one, two), kind, instance)
          : detachedContext.call(request, one, two);
      } catch (error) {
        // A custom store may throw instead of reject.
        return Promise.reject(storeFailure(error));
      }
    };
    // The engine awaits replies, or listens to them (`whenReplied`); it needs no more of a promise.
    return send as (one: A, two?: B) => Promise<R>;
  };
  const [release, withdraw] = [
    inside('release', session.release.bind(session)),
    inside('cancel', session.release.bind(session)),
  ];
  // The engine does without what a store lacks.
  const [reserve, listKeys] = [session.reserve?.bind(session), session.listKeys?.bind(session)];
  const verify = session.verify?.bind(session);
  return {
    get description() {
      return session.description;
    },
    get remainingIsBound() {
      return session.remainingIsBound;
    },
    get isCutOff() {
      return session.isCutOff;
    },
    get longestUnrenewed() {
      return session.longestUnrenewed;
    },
    board: session.board,
    start: () => detachedContext.run(() => session.start()),
    close: () => detachedContext.run(() => session.close()),
    acquire: inside('acquire', session.acquire.bind(session)),
    release: (request) => (request.wasGranted ? release : withdraw)(request),
    renew: inside('renew', session.renew.bind(session)),
    inspect: inside('inspect', session.inspect.bind(session)),
    breakHold: inside('force-release', session.breakHold.bind(session)),
    ...(reserve && { reserve: inside('reserve', reserve) }),
    ...(listKeys && { listKeys: inside('list-keys', listKeys) }),
    ...(verify && { verify: () => inside('verify', verify)(undefined) }),
    ...(session.connections && { connections: session.connections.bind(session) }),
    ...(session.whyTooLong && { whyTooLong: session.whyTooLong.bind(session) }),
    ...(session.whyUnsupported && { whyUnsupported: session.whyUnsupported.bind(session) }),
    ...(session.whenSent && { whenSent: session.whenSent.bind(session) }),
  };
}

/** Publishes how long a request took. */
function measured<R>(
  send: () => PromiseLike<R>,
  request: StoreRequestKind,
  instance: string | undefined,
): PromiseLike<R> {
  const startedAt = performance.now();
  const publish = (error?: unknown): void => {
    const duration = performance.now() - startedAt;
    requestChannel.publish({ instance, request, duration, error } satisfies StoreRequestMessage);
  };
  const relay = new Deferred<R>();
  whenReplied(
    send(),
    (value) => {
      publish();
      relay.resolve(value);
    },
    (error) => {
      publish(error);
      relay.reject(error);
    },
  );
  return relay;
}
