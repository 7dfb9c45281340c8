import {
  LockStoreError,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
} from '../../lib/stores/port/index.js';

/** A store that is unreachable and silent once its process has died. */
export class MortalStore implements LockStore {
  readonly name: string;
  private isDead = false;

  constructor(private readonly real: LockStore) {
    this.name = real.name;
  }

  open(client: LockStoreClient): LockStoreSession {
    const heard = new Proxy(client, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        const call = value as (...args: unknown[]) => unknown;
        return (...args: unknown[]) => (this.isDead && name !== 'now' ? undefined : call.apply(target, args));
      },
    });
    return new Proxy(this.real.open(heard), {
      get: (session, name) => {
        const value: unknown = Reflect.get(session, name);
        if (typeof value !== 'function') return value;
        const call = value as (...args: unknown[]) => unknown;
        const isRequest = !['close', 'connections', 'whenSent', 'whyTooLong', 'whyUnsupported'].includes(
          String(name),
        );
        return (...args: unknown[]) =>
          this.isDead && isRequest ? Promise.reject(died()) : call.apply(session, args);
      },
    });
  }

  die(): void {
    this.isDead = true;
  }
}

function died(): LockStoreError {
  return new LockStoreError('the process has died', { inDoubt: true, retryable: true, unreachable: true });
}
