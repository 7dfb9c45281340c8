import { messageOf } from '../../port/store-failure.js';
import { pauseBeforeConnecting } from '../../port/times.js';
import { endSession, type Operation } from './protocol.js';
import { CODE, hasCode, notConnected } from './zookeeper-failure.js';
import {
  ZooKeeperSocket,
  type SessionIdentity,
  type SocketSettings,
  type WatchEvent,
  type ZooKeeperHost,
} from './zookeeper-socket.js';

export type Request = <T>(operation: Operation<T>) => Promise<T>;

export interface ConnectionListener {
  /**
   * Prepares a connection, which is ready when this has resolved.
   *
   * @param isNew whether the session is new, so that nothing is left of an earlier one
   */
  prepare(request: Request, session: SessionIdentity, isNew: boolean): Promise<void>;
  /** It is connected again, or for the first time after `open` failed. */
  back(): void;
  lost(): void;
  event(event: WatchEvent): void;
}

export interface SessionTimes {
  /** How long the servers keep a session without contact, ms. */
  readonly timeout: number;
  /** `tickTime` of the servers, ms. */
  readonly tick: number;
}

/**
 * The session timeout that keeps leases of this length without contact, ms. The servers must not end the session before
 * the holder's deadline, even where the holder's clock is slower. Their leader may have learned of the process half a
 * tick (how often servers report to it) and a ping before the last reply. The ping takes half of the ten per cent;
 * clock drift and busy servers have the rest.
 */
export function timeoutForLease(lease: number, tick: number): number {
  return Math.ceil(lease * 1.1 + tick / 2) + 1;
}

/** The longest lease that such a session keeps without contact, ms. */
export function longestLease({ timeout, tick }: SessionTimes): number {
  return Math.max(0, Math.floor((timeout - tick / 2) / 1.1));
}

/**
 * How long after the last contact all nodes of a session are gone, ms: the leader learns of a contact up to half a tick
 * late, and ends sessions once a tick.
 */
export function goneAfter({ timeout, tick }: SessionTimes): number {
  return Math.ceil(timeout + 1.5 * tick);
}

/**
 * A session of ZooKeeper, on one connection after the other. Requests fail while there is no connection, and none is
 * sent twice.
 */
export class ZooKeeperConnection {
  /** The server in use, or tried last. */
  host: ZooKeeperHost | undefined;
  /** The connection that is being prepared, or is ready. */
  private socket: ZooKeeperSocket | undefined;
  private ready: ZooKeeperSocket | undefined;
  private probe: ZooKeeperSocket | undefined;
  private session: SessionIdentity | undefined;
  private tick = 0;
  private readonly hosts: readonly ZooKeeperHost[];
  private lastZxid = 0;
  private lastReplyAt = 0;
  private failure: Error | undefined;
  /** Whether `open` has ended, so that it reconnects in the background. */
  private isOpened = false;
  private closed = false;
  private attempts = 0;
  private pause: NodeJS.Timeout | undefined;

  constructor(
    hosts: readonly ZooKeeperHost[],
    private readonly settings: SocketSettings,
    private readonly timeoutFor: (tick: number) => number,
    private readonly listener: ConnectionListener,
  ) {
    // Clients spread over the servers.
    this.hosts = hosts
      .map((host) => ({ host, at: Math.random() }))
      .sort((one, other) => one.at - other.at)
      .map(({ host }) => host);
  }

  get isReady(): boolean {
    return this.ready !== undefined;
  }

  get underWay(): number {
    return this.ready?.underWay ?? 0;
  }

  /** Undefined while there is no session. */
  get times(): SessionTimes | undefined {
    return this.session && { timeout: this.session.timeout, tick: this.tick };
  }

  /** Rejects with a `LockStoreError` if no server is reachable, and retries in the background. */
  async open(): Promise<void> {
    for (let left = this.hosts.length; left > 0; left--) if (await this.connect()) return;
    this.isOpened = true;
    this.connectLater();
    throw notConnected(this.failure);
  }

  /** Rejects with a `LockStoreError`: a `ZooKeeperError` if ZooKeeper rejected the request. */
  readonly request: Request = (operation) =>
    this.ready?.request(operation) ?? Promise.reject(notConnected(this.failure));

  /** Connects again, with the same session if possible. The outcome of pending requests is unknown. */
  reconnect(why: string): void {
    this.socket?.cut(why);
  }

  /** @param endsSession whether to delete its ephemeral nodes now, rather than leave them until the session times out */
  async close(endsSession: boolean): Promise<void> {
    this.closed = true;
    clearTimeout(this.pause);
    this.probe?.cut('closed');
    const { socket, ready } = this;
    this.ready = undefined;
    if (endsSession && ready !== undefined) await ready.request(endSession).catch(() => undefined);
    this.socket = undefined;
    socket?.cut('closed');
  }

  /** Returns whether it is connected now. */
  private async connect(): Promise<boolean> {
    const host = this.hosts[this.attempts++ % this.hosts.length];
    if (host === undefined || this.closed) return false;
    this.host = host;
    let socket: ZooKeeperSocket | undefined;
    try {
      if (this.session === undefined) await this.readTick(host);
      // Throws for some TLS options.
      socket = this.openSocket(host);
      await this.prepare(socket, host);
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(messageOf(error));
      if (socket === undefined) {
        this.connectLater();
        return false;
      }
      if (hasCode(error, CODE.noNode)) {
        // Nodes that the session needs were deleted. Pings would keep it, and its queue entries, indefinitely.
        this.session = undefined;
        await socket.request(endSession).catch(() => undefined);
      }
      socket.cut(this.failure.message);
      return false;
    }
    if (this.socket !== socket) {
      socket.cut('closed');
      return false;
    }
    this.ready = socket;
    this.failure = undefined;
    this.attempts = this.hosts.indexOf(host);
    if (this.isOpened) this.listener.back();
    this.isOpened = true;
    return true;
  }

  /**
   * Reads `tickTime`, on which the session timeout depends: the shortest session that servers agree to has two ticks.
   * That takes a separate session, since the timeout of a session can't be changed.
   */
  private async readTick(host: ZooKeeperHost): Promise<void> {
    const nothing = (): void => undefined;
    const listener = { event: nothing, replied: nothing, closed: nothing };
    const probe = new ZooKeeperSocket(host, this.settings, listener);
    this.probe = probe;
    try {
      const shortest = await probe.open(undefined, 1, 0);
      if (shortest === undefined) throw new Error('the server refused a new session');
      this.tick = shortest.timeout / 2;
    } finally {
      // Not awaited: the servers end that session shortly in any case.
      const ended = probe.request(endSession).catch(nothing);
      void ended.then(() => probe.cut('done'));
    }
    if (this.closed) throw new Error('closed');
  }

  private openSocket(host: ZooKeeperHost): ZooKeeperSocket {
    const socket: ZooKeeperSocket = new ZooKeeperSocket(host, this.settings, {
      event: (event) => {
        if (this.socket === socket) this.listener.event(event);
      },
      replied: (zxid) => {
        this.lastReplyAt = performance.now();
        // Replies to pings and to `auth` have none.
        if (zxid > this.lastZxid) this.lastZxid = zxid;
      },
      closed: (cause) => this.lost(socket, cause),
    });
    this.socket = socket;
    return socket;
  }

  /** Opens or continues the session, and lets the listener prepare it. */
  private async prepare(socket: ZooKeeperSocket, host: ZooKeeperHost): Promise<void> {
    const earlier = this.session;
    const sentAt = performance.now();
    try {
      this.session = await socket.open(earlier, this.timeoutFor(this.tick), this.lastZxid);
    } catch (error) {
      // Servers that lost their data reject clients that have seen more. By then the session has expired, too.
      if (earlier !== undefined && sentAt - this.lastReplyAt > 1.5 * earlier.timeout) {
        this.session = undefined;
        this.lastZxid = 0;
      }
      throw error;
    }
    this.lastReplyAt = performance.now();
    const { session } = this;
    if (session === undefined) {
      // The server is reachable, so the next attempt opens a new session there without a pause.
      this.attempts = this.hosts.indexOf(host);
      throw new Error('the session has ended');
    }
    await this.listener.prepare(
      (operation) => socket.request(operation),
      session,
      session.id !== earlier?.id,
    );
  }

  private lost(socket: ZooKeeperSocket, cause: Error): void {
    if (this.socket !== socket) return;
    const wasReady = this.ready !== undefined;
    this.socket = this.ready = undefined;
    if (wasReady) {
      this.failure = cause;
      this.listener.lost();
    }
    this.connectLater();
  }

  private connectLater(): void {
    if (this.closed || !this.isOpened) return;
    clearTimeout(this.pause);
    // The first round has no pause: another server may be up already.
    const round = Math.floor(this.attempts / this.hosts.length);
    const ms = round === 0 ? 0 : pauseBeforeConnecting(round - 1);
    this.pause = setTimeout(() => void this.connect(), ms);
  }
}
