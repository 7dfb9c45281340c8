import type { LockStoreError, StoreConnection } from '../../port/lock-store.js';
import { pauseBeforeConnecting } from '../../port/times.js';
import { methods, type Method } from '../protocol/methods.js';
import { Authentication } from './authentication.js';
import { Endpoint, channelCredentials } from './endpoint.js';
import type { EtcdConnectionOptions } from './connection-options.js';
import { EtcdError, etcdError, etcdFailure, notConnected, status } from './etcd-failure.js';

/** How long an attempt to connect may take at most, ms. */
const CONNECT_TIMEOUT = 2_000;

/** With how many tokens a request is tried: users and roles may change one after the other. */
const MOST_TOKENS = 5;

export interface ConnectionListener {
  /** Makes a new connection ready; it counts as there when this has resolved. */
  prepare(endpoint: Endpoint): Promise<void>;
  /** It is there, and was not there before or when it was wanted. */
  back(): void;
  lost(): void;
}

/**
 * A connection to one of the members, and to another when that one is lost, silent or without the others. Nothing is sent
 * while there is none, and nothing twice.
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
    // Clients spread over the members.
    const [first, ...others] = options.addresses;
    const start = Math.floor(Math.random() * options.addresses.length);
    const all = first === undefined ? [] : [first, ...others];
    this.addresses = [...all.slice(start), ...all.slice(0, start)];
  }

  /** Rejects with a `LockStoreError` if no member is there yet; it goes on trying. */
  async open(): Promise<void> {
    for (let attempt = 0; attempt < this.addresses.length && !this.closed; attempt++) {
      if (await this.connect(attempt < this.addresses.length - 1)) return;
    }
    this.isLate = true;
    throw notConnected(this.failure);
  }

  /** Why nothing can be sent; undefined if something can. */
  get trouble(): LockStoreError | undefined {
    return this.endpoint === undefined ? notConnected(this.failure) : undefined;
  }

  /** That which is there, or is being opened, or was there last. */
  get status(): StoreConnection {
    const last = this.addresses[(this.next + this.addresses.length - 1) % this.addresses.length] ?? '';
    const address = this.endpoint?.address ?? this.opening?.address ?? last;
    return { name: address, isOpen: this.endpoint !== undefined };
  }

  /** Rejects with a `LockStoreError`. */
  async call<Request, Reply>(method: Method<Request, Reply>, request: Request): Promise<Reply> {
    const { endpoint, authentication } = this;
    if (endpoint === undefined) throw notConnected(this.failure);
    for (let tokens = 1; ; tokens++) {
      const underWay = authentication.underWay(endpoint);
      if (underWay !== undefined) await newToken(underWay);
      const { token } = endpoint;
      try {
        return await endpoint.call(method, request);
      } catch (error) {
        const cause = error as Error;
        if (!authentication.helps(cause)) {
          // A member that is cut off from the others, or ends: another one may do better.
          if (cause instanceof EtcdError && cause.code === status.unavailable) endpoint.cut(cause);
          throw etcdFailure(cause);
        }
        if (tokens === MOST_TOKENS) throw notConnected(cause);
        // Others may have got one since it was sent.
        if (endpoint.token === token) await newToken(authentication.renew(endpoint));
      }
    }
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

  /** Whether it is there now. */
  private async connect(isOneOfSeveral = false): Promise<boolean> {
    const address = this.addresses[this.next++ % this.addresses.length] ?? '';
    const { tls } = this.options;
    let endpoint: Endpoint;
    try {
      endpoint = new Endpoint(address, channelCredentials(tls), tls?.serverName, this.requestTimeout);
    } catch (error) {
      this.failure = etcdError(error);
      if (!isOneOfSeveral) this.connectLater();
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
      await endpoint.open(CONNECT_TIMEOUT);
      await this.authentication.renew(endpoint);
      await this.checkMember(endpoint);
      await this.listener.prepare(endpoint);
    } catch (error) {
      endpoint.cut(etcdError(error));
      this.failure = etcdError(error);
    }
    if (this.closed) endpoint.cut(new Error('closed'));
    if (this.opening !== endpoint) {
      if (!this.closed && !isOneOfSeveral) this.connectLater();
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

  private async checkMember(endpoint: Endpoint): Promise<void> {
    const { hasLeader, isLearner } = await endpoint.call(methods.status, undefined);
    if (isLearner) throw new Error(`${endpoint.address} is a learner, which serves no locks`);
    if (!hasLeader) throw new Error(`${endpoint.address} knows no leader`);
  }

  private connectLater(): void {
    clearTimeout(this.pause);
    // As many at once as there are members.
    const round = Math.floor(this.attempts++ / this.addresses.length);
    this.pause = setTimeout(() => void this.connect(), pauseBeforeConnecting(round));
  }
}

/** What waits for it has not been carried out. */
async function newToken(authenticated: Promise<void>): Promise<void> {
  try {
    await authenticated;
  } catch (error) {
    throw notConnected(error as Error);
  }
}
