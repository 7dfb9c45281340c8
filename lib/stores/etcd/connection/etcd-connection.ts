import { KeptConnection, type ConnectionEvents } from '../../port/kept-connection.js';
import type { LockStoreError, StoreConnection } from '../../port/lock-store.js';
import { inTime } from '../../port/times.js';
import type { EtcdConnectionOptions, EtcdCredentials } from './etcd-options.js';
import { methods, type Method, type StatusReply } from './protocol.js';
import { Endpoint, channelCredentials } from './endpoint.js';
import { EtcdError, etcdFailure, notConnected, status } from './etcd-failure.js';

const CONNECT_TIMEOUT_MS = 2_000;
const PASSWORD_TIMEOUT_MS = 10_000;
/** How many tokens are tried for one request: users and roles may change several times in a row. */
const MOST_TOKENS = 5;

export interface ConnectionListener extends ConnectionEvents {
  /** Prepares a new connection, which is used once this has resolved. */
  prepare(endpoint: Endpoint, member: StatusReply): Promise<void>;
}

/**
 * A connection to one of the members, and to another one when that one is lost, does not reply or is cut off from the
 * majority. Without a connection requests fail at once; no request is sent twice.
 */
export class EtcdConnection extends KeptConnection<string, Endpoint> {
  private readonly authentication: Authentication;

  constructor(
    private readonly options: EtcdConnectionOptions,
    private readonly requestTimeout: number,
    private readonly owner: ConnectionListener,
  ) {
    super(options.addresses, owner);
    this.authentication = new Authentication(options.credentials);
  }

  notConnected(): LockStoreError {
    return notConnected(this.failure);
  }

  /** Why nothing can be sent; undefined while there is a connection. */
  get trouble(): LockStoreError | undefined {
    return this.ready === undefined ? this.notConnected() : undefined;
  }

  /** The connection that is open or being opened, or the last one. */
  get status(): readonly StoreConnection[] {
    const { server, ready } = this;
    return server === undefined ? [] : [{ name: server, isOpen: ready !== undefined }];
  }

  /** Rejects with a `LockStoreError`. */
  async call<Request, Reply>(method: Method<Request, Reply>, request: Request): Promise<Reply> {
    const { authentication, ready: endpoint } = this;
    if (endpoint === undefined) throw this.notConnected();
    for (let tokens = 1; ; tokens++) {
      const pending = authentication.pendingFor(endpoint);
      if (pending !== undefined) await newToken(pending);
      const { token } = endpoint;
      try {
        return await endpoint.call(method, request);
      } catch (error) {
        const cause = error as Error;
        if (!authentication.helps(cause)) {
          const rejection = etcdFailure(cause);
          // The member is shutting down or cut off from the majority: try another one. The next connection raises the fence, so
          // that a request which may still be carried out is rejected.
          if (rejection.unreachable || rejection.inDoubt) endpoint.cut(cause);
          throw rejection;
        }
        if (tokens === MOST_TOKENS) throw notConnected(cause);
        // Another request may have renewed the token since this one was sent.
        if (endpoint.token === token) await newToken(authentication.renew(endpoint));
      }
    }
  }

  close(): void {
    this.stop()?.cut(new Error('closed'));
  }

  protected connect(address: string, onEnd: (cause: Error) => void): Endpoint {
    const { tls } = this.options;
    const endpoint = new Endpoint(address, channelCredentials(tls), tls?.serverName, this.requestTimeout);
    endpoint.onDown = onEnd;
    return endpoint;
  }

  protected async prepare(endpoint: Endpoint): Promise<void> {
    await endpoint.open(CONNECT_TIMEOUT_MS);
    await this.authentication.renew(endpoint);
    const member = await endpoint.call(methods.status, undefined);
    if (member.isLearner) throw new Error(`${endpoint.address} is a learner, which serves no locks`);
    if (!member.hasLeader) throw new Error(`${endpoint.address} knows no leader`);
    await this.owner.prepare(endpoint, member);
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
  private readonly pending = new WeakMap<Endpoint, Promise<void>>();

  constructor(private readonly credentials: EtcdCredentials | undefined) {}

  /** Whether a request that failed may succeed with a new token. */
  helps(cause: Error): cause is EtcdError {
    return this.credentials !== undefined && cause instanceof EtcdError && cause.needsNewToken;
  }

  /** Resolves when the pending authentication has succeeded; undefined if there is none. */
  pendingFor(endpoint: Endpoint): Promise<void> | undefined {
    return this.pending.get(endpoint);
  }

  /** Obtains a new token; concurrent calls use one request. */
  renew(endpoint: Endpoint): Promise<void> {
    const pending =
      this.pendingFor(endpoint) ?? this.authenticate(endpoint).finally(() => this.pending.delete(endpoint));
    this.pending.set(endpoint, pending);
    return pending;
  }

  private async authenticate(endpoint: Endpoint): Promise<void> {
    if (this.credentials === undefined) return;
    const { username, password } = this.credentials;
    const given =
      typeof password === 'function'
        ? await inTime(
            PASSWORD_TIMEOUT_MS,
            password,
            'the password function of etcdStore returned no password',
          )
        : password;
    try {
      await endpoint.authenticate({ username, password: given });
    } catch (error) {
      // Authentication is not enabled.
      if (!(error instanceof EtcdError && error.code === status.failedPrecondition)) throw error;
    }
  }
}
