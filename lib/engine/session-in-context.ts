import { detachedContext } from '../common/detached-context.js';
import { Deferred, whenReplied } from '../common/deferred.js';
import { requestChannel, type StoreRequestKind, type StoreRequestMessage } from '../model/lock-channels.js';
import { forwardedBoard } from '../stores/port/forwarding-session.js';
import type { LockStore, LockStoreClient, LockStoreSession } from '../stores/port/lock-store.js';
import { storeFailure } from '../stores/port/store-failure.js';

/** The requests of a session, and the kind under which each is measured. */
const OPERATIONS = {
  acquire: 'acquire',
  cancel: 'cancel',
  release: 'release',
  renew: 'renew',
  reserve: 'reserve',
  raise: 'raise',
  inspect: 'inspect',
  breakHold: 'force-release',
  listKeys: 'list-keys',
  verify: 'verify',
} as const satisfies Partial<Record<keyof LockStoreSession, StoreRequestKind>>;

type RequestName = keyof typeof OPERATIONS;
/** No request has more arguments. */
type Request = (one: unknown, two: unknown) => PromiseLike<unknown>;

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
  const inside =
    (kind: StoreRequestKind, request: Request): Request =>
    (one, two) => {
      try {
        return requestChannel.hasSubscribers
          ? measured(() => detachedContext.call(request, one, two), kind, instance)
          : detachedContext.call(request, one, two);
      } catch (error) {
        // A custom store may throw instead of reject.
        return Promise.reject(storeFailure(error));
      }
    };
  const given = session as unknown as Partial<Record<RequestName, Request>>;
  const requests: Partial<Record<RequestName, Request>> = {};
  for (const name of Object.keys(OPERATIONS) as RequestName[]) {
    const request = given[name];
    // The engine does without the requests that a store lacks.
    if (request !== undefined) requests[name] = inside(OPERATIONS[name], request.bind(session));
  }
  const { board } = session;
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
    start: () => detachedContext.run(() => session.start()),
    close: () => detachedContext.run(() => session.close()),
    ...(requests as Pick<LockStoreSession, RequestName>),
    ...(session.connections && { connections: session.connections.bind(session) }),
    ...(board && { board: forwardedBoard((request) => detachedContext.run(() => request(board))) }),
    ...(session.whyTooLong && { whyTooLong: session.whyTooLong.bind(session) }),
    ...(session.whenSent && { whenSent: session.whenSent.bind(session) }),
  };
}

/** Publishes how long a request took. */
function measured(
  send: () => PromiseLike<unknown>,
  request: StoreRequestKind,
  instance: string | undefined,
): PromiseLike<unknown> {
  const startedAt = performance.now();
  const publish = (error?: unknown): void => {
    const duration = performance.now() - startedAt;
    requestChannel.publish({ instance, request, duration, error } satisfies StoreRequestMessage);
  };
  const reply = send();
  // A pending reply has one listener, the engine's.
  const relay = reply instanceof Deferred ? new Deferred<unknown>() : undefined;
  whenReplied(
    reply,
    (value) => {
      publish();
      relay?.resolve(value);
    },
    (error) => {
      publish(error);
      relay?.reject(error);
    },
  );
  return relay ?? reply;
}
