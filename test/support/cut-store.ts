import {
  LockStoreError,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
} from '../../lib/stores/port/index.js';

/** What works without a server. */
const NOT_SENT = ['close', 'connections', 'whenSent', 'whyTooLong', 'whyUnsupported'];

/** A store that a test cuts off from one process, and connects again. */
export class CutStore implements LockStore {
  readonly name: string;
  private isCut = false;
  private readonly clients: LockStoreClient[] = [];

  constructor(private readonly real: LockStore) {
    this.name = real.name;
  }

  open(client: LockStoreClient): LockStoreSession {
    this.clients.push(client);
    return new Proxy(this.real.open(client), {
      get: (session, name) => {
        const value: unknown = Reflect.get(session, name);
        if (typeof value !== 'function') return value;
        const call = value as (...args: unknown[]) => unknown;
        const isRequest = !NOT_SENT.includes(String(name));
        return (...args: unknown[]) =>
          this.isCut && isRequest ? Promise.reject(cutOff()) : call.apply(session, args);
      },
    });
  }

  cut(): void {
    this.isCut = true;
  }

  connect(): void {
    this.isCut = false;
    for (const client of this.clients) client.reconnected();
  }
}

function cutOff(): LockStoreError {
  return new LockStoreError('cut off', { inDoubt: false, retryable: true, unreachable: true });
}
