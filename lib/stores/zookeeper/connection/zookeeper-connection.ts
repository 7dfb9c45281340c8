import { messageOf } from '../../port/store-failure.js';
import { pauseBeforeConnecting } from '../../port/times.js';
import type { SessionTimes } from '../locks/session-times.js';
import { endSession, type Operation } from './operations.js';
import type { ZooKeeperHost } from './server-socket.js';
import { CODE, isAnswer } from './zookeeper-error.js';
import { notConnected } from './zookeeper-failure.js';
import {
  ZooKeeperSocket,
  type SessionIdentity,
  type SocketSettings,
  type WatchEvent,
} from './zookeeper-socket.js';

export type Request = <T>(operation: Operation<T>) => Promise<T>;

export interface ConnectionListener {
  /**
   * Makes a connection ready; it counts as there when this has resolved.
   *
   * @param isNew whether the session is new, so that nothing is left of an earlier one
   */
  prepare(request: Request, session: SessionIdentity, isNew: boolean): Promise<void>;
  /** It is there, and was not there before or when it was wanted. */
  back(): void;
  lost(): void;
  event(event: WatchEvent): void;
}

/** A session of ZooKeeper, on one connection after the other. Nothing is sent while there is none, and nothing twice. */
export class ZooKeeperConnection {
  /** That which is used, or was tried last. */
  host: ZooKeeperHost | undefined;
  private socket: ZooKeeperSocket | undefined;
  private ready: ZooKeeperSocket | undefined;
  private session: SessionIdentity | undefined;
  private tick = 0;
  private probe: ZooKeeperSocket | undefined;
  private readonly hosts: readonly ZooKeeperHost[];
  private lastZxid = 0;
  private heardAt = 0;
  private failure: Error | undefined;
  private isLate = false;
  private closed = false;
  private attempts = 0;
  private pause: NodeJS.Timeout | undefined;

  constructor(
    hosts: readonly ZooKeeperHost[],
    private readonly settings: SocketSettings,
    private readonly timeoutFor: (tick: number) => number,
    private readonly listener: ConnectionListener,
  ) {
    this.hosts = shuffled(hosts);
  }

  get isReady(): boolean {
    return this.ready !== undefined;
  }

  /** How many requests have not been answered yet. */
  get underWay(): number {
    return this.ready?.underWay ?? 0;
  }

  /** Undefined before there is a session. */
  get times(): SessionTimes | undefined {
    return this.session && { timeout: this.session.timeout, tick: this.tick };
  }

  /** Rejects with a `LockStoreError` if no server is there yet; it goes on trying. */
  async open(): Promise<void> {
    let left = this.hosts.length;
    while (left-- > 0) if (await this.connect()) return;
    this.isLate = true;
    this.connectLater();
    throw notConnected(this.failure);
  }

  /** Rejects with a `LockStoreError`, or with what ZooKeeper answered. */
  readonly request: Request = (operation) =>
    this.ready?.request(operation) ?? Promise.reject(notConnected(this.failure));

  /** Connects anew, with the same session if it can go on. What is under way is lost. */
  reconnect(why: string): void {
    this.socket?.cut(why);
  }

  /** @param endsSession whether all that is left of it is to go at once, rather than when the servers give it up */
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

  /** Whether it is there now. */
  private async connect(): Promise<boolean> {
    const host = this.hosts[this.attempts++ % this.hosts.length];
    if (host === undefined || this.closed) return false;
    this.host = host;
    if (this.session === undefined && !(await this.readTick(host))) return false;
    const socket = this.openSocket(host);
    if (socket === undefined) return false;
    this.socket = socket;
    try {
      const isNew = await this.openSession(socket);
      const { session } = this;
      if (session === undefined) throw new Error('the session has ended');
      await this.listener.prepare((operation) => socket.request(operation), session, isNew);
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(messageOf(error));
      // What the session needs was deleted. Pings would keep it, and its places in lines, for good.
      if (isAnswer(error, CODE.noNode)) await this.endSession(socket);
      socket.cut(this.failure.message);
      return false;
    }
    if (this.socket !== socket || this.isClosed()) {
      socket.cut('closed');
      return false;
    }
    this.ready = socket;
    this.failure = undefined;
    this.attempts = this.hosts.indexOf(host);
    if (this.isLate) this.listener.back();
    this.isLate = true;
    return true;
  }

  /**
   * Learns `tickTime`, on which the timeout to ask for depends: the shortest session that servers agree to has two ticks.
   * A session of its own asks, since the timeout of a session can't be changed. False if that failed.
   */
  private async readTick(host: ZooKeeperHost): Promise<boolean> {
    try {
      const nothing = (): void => undefined;
      const probe = new ZooKeeperSocket(host, this.settings, {
        event: nothing,
        heard: nothing,
        closed: nothing,
      });
      this.probe = probe;
      const shortest = await probe.open(undefined, 1, 0);
      if (shortest === undefined) throw new Error('the server refused a new session');
      this.tick = shortest.timeout / 2;
      // The servers end it all the same.
      probe
        .request(endSession)
        .then(nothing, nothing)
        .finally(() => probe.cut('done'))
        .catch(nothing);
      return !this.closed;
    } catch (error) {
      this.probe?.cut(messageOf(error));
      this.failure = error instanceof Error ? error : new Error(messageOf(error));
      if (this.isLate) this.connectLater();
      return false;
    }
  }

  /** Undefined if that failed, as it may with options of TLS, so that it is tried again. */
  private openSocket(host: ZooKeeperHost): ZooKeeperSocket | undefined {
    try {
      const socket: ZooKeeperSocket = new ZooKeeperSocket(host, this.settings, {
        event: (event) => {
          if (this.socket === socket) this.listener.event(event);
        },
        heard: (zxid) => {
          this.heardAt = performance.now();
          // Answers to pings and to `auth` carry none.
          if (zxid > this.lastZxid) this.lastZxid = zxid;
        },
        closed: (cause) => {
          this.ended(socket, cause);
        },
      });
      return socket;
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(messageOf(error));
      if (this.isLate) this.connectLater();
      return undefined;
    }
  }

  private isClosed(): boolean {
    return this.closed;
  }

  /** Whether the session is new. */
  private async openSession(socket: ZooKeeperSocket): Promise<boolean> {
    const { session } = this;
    const asked = performance.now();
    const opened = await socket
      .open(session, this.timeoutFor(this.tick), this.lastZxid)
      .catch((error: unknown) => {
        // Servers that have lost their data refuse whoever has seen more of it. By then the session is over as well.
        if (session !== undefined && asked - this.heardAt > 1.5 * session.timeout) this.forget();
        throw error;
      });
    this.heardAt = performance.now();
    if (opened === undefined) {
      this.session = undefined;
      // The server is there: a new session is opened at once.
      this.attempts = this.host === undefined ? 0 : this.hosts.indexOf(this.host);
      throw new Error('the session has ended');
    }
    this.session = opened;
    return session?.id !== opened.id;
  }

  private async endSession(socket: ZooKeeperSocket): Promise<void> {
    this.session = undefined;
    await socket.request(endSession).catch(() => undefined);
  }

  private forget(): void {
    this.session = undefined;
    this.lastZxid = 0;
  }

  private ended(socket: ZooKeeperSocket, cause: Error): void {
    if (this.socket !== socket) return;
    const wasReady = this.ready !== undefined;
    this.socket = this.ready = undefined;
    if (wasReady) {
      this.failure = cause;
      this.listener.lost();
    }
    if (this.isLate) this.connectLater();
  }

  private connectLater(): void {
    if (this.closed) return;
    clearTimeout(this.pause);
    // Once around without a pause: another server may be there already.
    const round = Math.floor(this.attempts / this.hosts.length);
    const ms = round === 0 ? 0 : pauseBeforeConnecting(round - 1);
    this.pause = setTimeout(() => void this.connect(), ms);
  }
}

/** So that the clients spread over the servers. */
function shuffled<T>(items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
}
