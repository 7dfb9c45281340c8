import { inMs } from '../../../common/durations.js';
import type { LockStoreError, StoreConnection } from '../../port/lock-store.js';
import { pauseBeforeConnecting } from '../../port/times.js';
import type { EtcdConnectionOptions, EtcdCredentials } from './etcd-options.js';
import { methods, type Method, type StatusReply } from './protocol.js';
import { Endpoint, channelCredentials } from './endpoint.js';
import { EtcdError, etcdError, etcdFailure, notConnected, status } from './etcd-failure.js';

const CONNECT_TIMEOUT_MS = 2_000;
const PASSWORD_TIMEOUT_MS = 10_000;
/** How many tokens are tried for one request: users and roles may change several times in a row. */
const MOST_TOKENS = 5;

export interface ConnectionListener {
  /** Prepares a new connection, which is used once this has resolved. */
  prepare(endpoint: Endpoint, member: StatusReply): Promise<void>;
  /** A connection is open again, or open after `open()` has failed. */
  back(): void;
  lost(): void;
}

/**
 * A connection to one of the members, and to another one when that one is lost, does not reply or is cut off from the
 * majority. Without a connection requests fail at once; no request is sent twice.
 */
export class EtcdConnection {
  private endpoint: Endpoint | undefined;
  private opening: Endpoint | undefined;
  private failure: Error | undefined;
  private isLate = false;
  private closed = false;
  private attempts = 0;
  private pause: NodeJS.Timeout | undefined;
  private readonly authentication: Authentication;
  private readonly addresses: readonly string[];
  private next = 0;

  constructor(
    private readonly options: EtcdConnectionOptions,
    private readonly requestTimeout: number,
    private readonly listener: ConnectionListener,
  ) {
    this.authentication = new Authentication(options.credentials);
    // Spreads the clients over the members.
    const { addresses } = options;
    const start = Math.floor(Math.random() * addresses.length);
    this.addresses = [...addresses.slice(start), ...addresses.slice(0, start)];
  }

  /** Rejects with a `LockStoreError` if no member is reachable; keeps trying in the background. */
  async open(): Promise<void> {
    for (let attempt = 1; attempt <= this.addresses.length && !this.closed; attempt++) {
      if (await this.connect(attempt < this.addresses.length)) return;
    }
    this.isLate = true;
    throw notConnected(this.failure);
  }

  /** Why nothing can be sent; undefined while there is a connection. */
  get trouble(): LockStoreError | undefined {
    return this.endpoint === undefined ? notConnected(this.failure) : undefined;
  }

  /** The connection that is open or being opened, or the last one. */
  get status(): StoreConnection {
    const last = this.addresses[(this.next + this.addresses.length - 1) % this.addresses.length] ?? '';
    const name = this.endpoint?.address ?? this.opening?.address ?? last;
    return { name, isOpen: this.endpoint !== undefined };
  }

  /** Rejects with a `LockStoreError`. */
  async call<Request, Reply>(method: Method<Request, Reply>, request: Request): Promise<Reply> {
    const { endpoint, authentication } = this;
    if (endpoint === undefined) throw notConnected(this.failure);
    for (let tokens = 1; ; tokens++) {
      const pending = authentication.pendingFor(endpoint);
      if (pending !== undefined) await newToken(pending);
      const { token } = endpoint;
      try {
        return await endpoint.call(method, request);
      } catch (error) {
        const cause = error as Error;
        if (!authentication.helps(cause)) {
          const failure = etcdFailure(cause);
          // The member is shutting down or cut off from the majority: try another one. The next connection raises the fence, so
          // that a request which may still be carried out is rejected.
          if (failure.unreachable || failure.inDoubt) endpoint.cut(cause);
          throw failure;
        }
        if (tokens === MOST_TOKENS) throw notConnected(cause);
        // Another request may have renewed the token since this one was sent.
        if (endpoint.token === token) await newToken(authentication.renew(endpoint));
      }
    }
  }

  /** Connects again. The outcome of pending requests is unknown. */
  reconnect(why: string): void {
    this.endpoint?.cut(new Error(why));
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.pause);
    const { endpoint, opening } = this;
    this.endpoint = this.opening = undefined;
    const why = new Error('closed');
    endpoint?.cut(why);
    opening?.cut(why);
  }

  /** @returns whether there is a connection; if not, another attempt follows, unless the caller makes it itself */
  private async connect(callerTriesNext = false): Promise<boolean> {
    const address = this.addresses[this.next++ % this.addresses.length] ?? '';
    const { tls } = this.options;
    let endpoint: Endpoint;
    try {
      endpoint = new Endpoint(address, channelCredentials(tls), tls?.serverName, this.requestTimeout);
    } catch (error) {
      this.failure = etcdError(error);
      if (!callerTriesNext) this.connectLater();
      return false;
    }
    this.opening = endpoint;
    endpoint.onDown = (why) => {
      this.failure = why;
      if (this.opening === endpoint) this.opening = undefined;
      if (this.endpoint !== endpoint) return;
      this.endpoint = undefined;
      this.listener.lost();
      if (!this.closed) this.connectLater();
    };
    try {
      await endpoint.open(CONNECT_TIMEOUT_MS);
      await this.authentication.renew(endpoint);
      const member = await endpoint.call(methods.status, undefined);
      if (member.isLearner) throw new Error(`${address} is a learner, which serves no locks`);
      if (!member.hasLeader) throw new Error(`${address} knows no leader`);
      await this.listener.prepare(endpoint, member);
    } catch (error) {
      endpoint.cut(etcdError(error));
      this.failure = etcdError(error);
    }
    if (this.closed) endpoint.cut(new Error('closed'));
    if (this.opening !== endpoint) {
      if (!this.closed && !callerTriesNext) this.connectLater();
      return false;
    }
    this.opening = undefined;
    this.endpoint = endpoint;
    this.failure = undefined;
    this.attempts = 0;
    if (this.isLate) this.listener.back();
    this.isLate = true;
    return true;
  }

  private connectLater(): void {
    clearTimeout(this.pause);
    // The pause grows only after every member was tried.
    const round = Math.floor(this.attempts++ / this.addresses.length);
    this.pause = setTimeout(() => void this.connect(), pauseBeforeConnecting(round));
  }
}

/** Waits for a new token; a request that was waiting for it has not been carried out. */
async function newToken(authenticated: Promise<void>): Promise<void> {
  try {
    await authenticated;
  } catch (error) {
    throw notConnected(error as Error);
  }
}

/** Authenticates connections. The tokens that etcd issues expire. */
export class Authentication {
  private running: { readonly endpoint: Endpoint; readonly done: Promise<void> } | undefined;

  constructor(private readonly credentials: EtcdCredentials | undefined) {}

  /** Whether a request that failed may succeed with a new token. */
  helps(cause: Error): cause is EtcdError {
    return this.credentials !== undefined && cause instanceof EtcdError && cause.needsNewToken;
  }

  /** Resolves when the pending authentication has succeeded; undefined if there is none. */
  pendingFor(endpoint: Endpoint): Promise<void> | undefined {
    return this.running?.endpoint === endpoint ? this.running.done : undefined;
  }

  /** Obtains a new token; concurrent calls use one request. */
  renew(endpoint: Endpoint): Promise<void> {
    const pending = this.pendingFor(endpoint);
    if (pending !== undefined) return pending;
    const done = this.authenticate(endpoint).finally(() => {
      if (this.running === running) this.running = undefined;
    });
    const running = { endpoint, done };
    this.running = running;
    return done;
  }

  private async authenticate(endpoint: Endpoint): Promise<void> {
    if (this.credentials === undefined) return;
    const { username, password } = this.credentials;
    const given = typeof password === 'function' ? await inTime(password) : password;
    try {
      await endpoint.authenticate({ username, password: given });
    } catch (error) {
      // Authentication is not enabled.
      if (!(error instanceof EtcdError && error.code === status.failedPrecondition)) throw error;
    }
  }
}

/** Limits the time of the password function: a call that never returns must not block the connection permanently. */
async function inTime(password: () => string | Promise<string>): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(
        new Error(
          `the password function of etcdStore returned no password within ${inMs(PASSWORD_TIMEOUT_MS)}`,
        ),
      );
    }, PASSWORD_TIMEOUT_MS).unref();
  });
  try {
    return await Promise.race([password(), late]);
  } finally {
    clearTimeout(timer);
  }
}
