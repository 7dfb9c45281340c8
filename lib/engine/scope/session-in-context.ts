import type { LockStore, LockStoreClient, LockStoreSession } from '../../stores/port/lock-store.js';
import { OwnContext } from '../../common/own-context.js';

/**
 * Opens a session that works in the context of the module, whoever's request it serves: it opens connections and starts
 * timers when they are first needed, and gathers what several callers ask for.
 */
export function openInContext(store: LockStore, client: LockStoreClient): LockStoreSession {
  const context = new OwnContext();
  const session = context.run(() => store.open(client));
  const inside =
    <A, R>(request: (argument: A) => R) =>
    (argument: A): R =>
      context.call(request, argument);
  return {
    get description() {
      return session.description;
    },
    start: () => context.run(() => session.start()),
    ask: inside((request) => session.ask(request)),
    cancel: inside((request) => session.cancel(request)),
    release: inside((request) => session.release(request)),
    renew: inside((requests) => session.renew(requests)),
    inspect: inside((key) => session.inspect(key)),
    forceRelease: inside((key) => session.forceRelease(key)),
    close: () => context.run(() => session.close()),
    // What a store leaves out is asked for in another way.
    ...(session.whenSent && { whenSent: session.whenSent.bind(session) }),
    ...(session.reserve && { reserve: inside(session.reserve.bind(session)) }),
    ...(session.raise && { raise: inside(session.raise.bind(session)) }),
    ...(session.takeAll && { takeAll: inside(session.takeAll.bind(session)) }),
  };
}
