import { KeptConnection, type ConnectionEvents } from '../../port/kept-connection.js';
import type { LockStoreError } from '../../port/lock-store.js';
import { endSession, type Operation } from './protocol.js';
import { CODE, hasCode, notConnected } from './zookeeper-failure.js';
import {
  askServer,
  connectTo,
  ZooKeeperSocket,
  type SessionIdentity,
  type SocketSettings,
  type WatchEvent,
  type ZooKeeperHost,
} from './zookeeper-socket.js';

export type Request = <T>(operation: Operation<T>) => Promise<T>;

export interface ConnectionListener extends ConnectionEvents {
  /**
   * Prepares a connection, which is ready when this has resolved.
   *
   * @param isNew whether the session is new, so that nothing is left of an earlier one
   */
  prepare(request: Request, session: SessionIdentity, isNew: boolean): Promise<void>;
  event(event: WatchEvent): void;
}

export interface SessionTimes {
  /** How long the servers keep a session without contact, ms. */
  readonly timeout: number;
  /** `tickTime` of the servers, ms. */
  readonly tick: number;
}

/** What the servers show of `tickTime`, ms. */
export interface ShownTick {
  /** By the command `conf`, if they allow that. */
  readonly told: number | undefined;
  /** By the shortest session that they agree to, which has two ticks by default. */
  readonly byShortest: number;
  /** By the longest one, which has twenty. */
  readonly byLongest: number;
}

/** `tickTime` in the sample file of ZooKeeper, ms. A shorter one has to be told or set. */
const USUAL_TICK = 2_000;
/** The most that the longest session counts for, ms: operators raise `maxSessionTimeout` far more often than `tickTime`. */
const LONG_TICK = 6_000;
/** The longest session that a client can ask for, ms. */
const LONGEST_SESSION = 0x7fff_ffff;

/**
 * The `tickTime` to rely on, ms. Servers with other limits of sessions show less or more than it is. Too long a tick keeps
 * the locks of a dead process for longer; with too short a one a session ends while a holder still relies on it.
 *
 * @param set `tickTime` of the options
 */
export function tickOf({ told, byShortest, byLongest }: ShownTick, set: number | undefined): number {
  return told ?? set ?? Math.max(USUAL_TICK, byShortest, Math.min(byLongest, LONG_TICK));
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
export class ZooKeeperConnection extends KeptConnection<ZooKeeperHost, ZooKeeperSocket> {
  /** The connection by which `tickTime` is found out. */
  private probe: { cut(why: Error): void } | undefined;
  shownTick: ShownTick | undefined;
  private session: SessionIdentity | undefined;
  private tick = 0;
  private lastZxid = 0;
  private lastReplyAt = 0;

  /** @param tickTime of the options */
  constructor(
    hosts: readonly ZooKeeperHost[],
    private readonly settings: SocketSettings,
    private readonly tickTime: number | undefined,
    private readonly timeoutFor: (tick: number) => number,
    private readonly owner: ConnectionListener,
  ) {
    super(hosts, owner);
  }

  get underWay(): number {
    return this.ready?.underWay ?? 0;
  }

  /** Undefined while there is no session. */
  get times(): SessionTimes | undefined {
    return this.session && { timeout: this.session.timeout, tick: this.tick };
  }

  notConnected(): LockStoreError {
    return notConnected(this.failure);
  }

  /** Rejects with a `LockStoreError`: a `ZooKeeperError` if ZooKeeper rejected the request. */
  readonly request: Request = (operation) =>
    this.ready?.request(operation) ?? Promise.reject(this.notConnected());

  /** @param endsSession whether to delete its ephemeral nodes now, rather than leave them until the session times out */
  async close(endsSession: boolean): Promise<void> {
    const why = new Error('closed');
    const isReady = this.ready !== undefined;
    const socket = this.stop();
    this.probe?.cut(why);
    if (endsSession && isReady) await socket?.request(endSession).catch(() => undefined);
    socket?.cut(why);
  }

  protected connect(host: ZooKeeperHost, onEnd: (cause: Error) => void): ZooKeeperSocket {
    return new ZooKeeperSocket(host, this.settings, {
      event: (event) => this.owner.event(event),
      replied: (zxid) => {
        this.lastReplyAt = performance.now();
        // Replies to pings and to `auth` have none.
        if (zxid > this.lastZxid) this.lastZxid = zxid;
      },
      closed: onEnd,
    });
  }

  protected async prepare(socket: ZooKeeperSocket, host: ZooKeeperHost): Promise<void> {
    const { session: earlier } = this;
    if (earlier === undefined) await this.readTick(host);
    const session = await this.openSession(socket, earlier);
    try {
      await this.owner.prepare((operation) => socket.request(operation), session, session.id !== earlier?.id);
    } catch (error) {
      if (hasCode(error, CODE.noNode)) {
        // Nodes that the session needs were deleted. Pings would keep it, and its queue entries, indefinitely.
        this.session = undefined;
        await socket.request(endSession).catch(() => undefined);
      }
      throw error;
    }
  }

  /** Finds out `tickTime`, on which the session timeout depends; one connection after the other. */
  private async readTick(host: ZooKeeperHost): Promise<void> {
    const byShortest = (await this.timeoutOf(host, 1)) / 2;
    const { tls, requestTimeout } = this.settings;
    const socket = connectTo(host, tls);
    this.probe = { cut: () => socket.destroy() };
    const told = /^tickTime=(\d+)$/m.exec(await askServer(socket, 'conf', requestTimeout))?.[1];
    const shown =
      told === undefined
        ? { told, byShortest, byLongest: (await this.timeoutOf(host, LONGEST_SESSION)) / 20 }
        : { told: Number(told), byShortest, byLongest: 0 };
    this.shownTick = shown;
    this.tick = tickOf(shown, this.tickTime);
  }

  /** What the servers make of this session timeout, ms. That takes a separate session, as it can't be changed. */
  private async timeoutOf(host: ZooKeeperHost, wanted: number): Promise<number> {
    // A reply to `conf` that was cut off looks like a server that does not allow it.
    if (this.isClosed) throw new Error('closed');
    const nothing = (): void => undefined;
    const listener = { event: nothing, replied: nothing, closed: nothing };
    const probe = new ZooKeeperSocket(host, this.settings, listener);
    this.probe = probe;
    let end = Promise.resolve();
    try {
      const session = await probe.open(undefined, wanted, 0);
      if (session === undefined) throw new Error('the server refused a new session');
      end = probe.request(endSession).then(nothing, nothing);
      return session.timeout;
    } finally {
      // Not awaited: the server knows by then.
      void end.then(() => probe.cut(new Error('done')));
    }
  }

  /** Opens or continues the session. */
  private async openSession(
    socket: ZooKeeperSocket,
    earlier: SessionIdentity | undefined,
  ): Promise<SessionIdentity> {
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
    if (this.session === undefined) {
      this.tryAgain();
      throw new Error('the session has ended');
    }
    return this.session;
  }
}
