import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { inMs } from '../../../common/durations.js';
import { atExit } from '../../port/at-exit.js';
import { answerLost, messageOf, storeFailure } from '../../port/store-failure.js';
import { ReplyTimeout } from '../../port/times.js';
import { authenticate, JuteReader, JuteWriter, ping, type Operation } from './protocol.js';
import { notConnected, RequestTooLongError, ZooKeeperError, zooKeeperRemedies } from './zookeeper-failure.js';

export interface ZooKeeperHost {
  readonly host: string;
  readonly port: number;
}

/** The identification with which a client continues its session on another connection. */
export interface SessionIdentity {
  /** 16 hexadecimal digits. */
  readonly id: string;
  readonly password: Buffer;
  /** The timeout that the server agreed to, ms. */
  readonly timeout: number;
}

export interface SocketSettings {
  readonly tls: ConnectionOptions | undefined;
  readonly auth: { readonly scheme: string; readonly credentials: string } | undefined;
  /** How long a reply may take, ms. */
  readonly requestTimeout: number;
}

export const EVENT = { deleted: 2, dataChanged: 3 } as const;

export interface WatchEvent {
  readonly type: number;
  readonly path: string;
}

export interface SocketListener {
  event(event: WatchEvent): void;
  /** A reply arrived, with the id of the latest transaction that the server knows. */
  replied(zxid: number): void;
  closed(cause: Error): void;
}

const XID = { event: -1, ping: -2, auth: -4 } as const;
const NO_SESSION = '0'.repeat(16);
/**
 * The longest request, bytes: `jute.maxbuffer` of a server by default. It closes the connection of a client that sends a longer
 * one, which may cost the client other locks.
 */
const LONGEST_REQUEST = 0xf_ffff;
/** A longer frame is not from ZooKeeper, bytes. */
const LONGEST_REPLY = 64 * 1024 * 1024;

interface Pending {
  readonly xid: number;
  readonly operation: Operation<unknown>;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** @param tls undefined for a connection without TLS */
export function connectTo({ host, port }: ZooKeeperHost, tls: ConnectionOptions | undefined): Socket {
  const socket =
    tls === undefined
      ? connect({ host, port, noDelay: true })
      : connectTls({ ...(isIP(host) === 0 && { servername: host }), ...tls, host, port });
  return socket.setNoDelay(true);
}

/**
 * What a server replies to one of the four-letter commands. Empty if it does not reply in time; never rejects.
 *
 * @param socket which this closes
 */
export function askServer(socket: Socket, command: string, timeout: number): Promise<string> {
  return new Promise((resolve) => {
    let reply = '';
    const timer = setTimeout(() => socket.destroy(), timeout);
    socket.on('data', (chunk: Buffer) => (reply += chunk.toString('latin1')));
    // `close` follows in any case.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(reply);
    });
    socket.write(command);
  });
}

/** The longest time between two messages to the server, ms. */
export function pingInterval(sessionTimeout: number): number {
  return Math.min(1_000, sessionTimeout / 30);
}

/** One connection to one server. Requests are sent once, and replies come in the same order. */
export class ZooKeeperSocket {
  private readonly socket: Socket;
  private readonly timeout: ReplyTimeout;
  private readonly pending = new Set<Pending>();
  private received: Buffer = Buffer.alloc(0);
  private onHandshake: ((reply: JuteReader) => void) | undefined;
  private xid = 0;
  private failure: Error | undefined;
  /** Requests of this tick, which are sent together. */
  private unsent: { readonly frame: Uint8Array; readonly isSentAtExit: boolean }[] = [];
  private readonly stopAtExit: () => void;
  private pings: NodeJS.Timeout | undefined;
  private isIdle = false;
  private isOpen = false;

  constructor(
    host: ZooKeeperHost,
    private readonly settings: SocketSettings,
    private readonly listener: SocketListener,
  ) {
    this.timeout = new ReplyTimeout(settings.requestTimeout, () =>
      this.cut(new Error(`no answer within ${inMs(settings.requestTimeout)}`)),
    );
    this.socket = connectTo(host, settings.tls);
    // Releases have been reported as done; nothing waits for the other requests.
    this.stopAtExit = atExit(() => {
      this.unsent = this.unsent.filter(({ isSentAtExit }) => isSentAtExit);
      this.flush();
    });
    this.socket.on('data', (chunk: Buffer) => this.read(chunk));
    this.socket.on('error', (error: Error) => (this.failure ??= error));
    this.socket.on('close', () => this.end());
  }

  /**
   * Opens a session, or continues one. Resolves with undefined if that one has ended.
   *
   * @param lastZxid the latest transaction that this client has seen: a server that is behind rejects the client
   */
  async open(
    session: SessionIdentity | undefined,
    timeout: number,
    lastZxid: number,
  ): Promise<SessionIdentity | undefined> {
    if (this.socket.destroyed) throw this.endedBy;
    this.timeout.start();
    const handshake = new Promise<JuteReader>((resolve) => (this.onHandshake = resolve));
    const closed = new Promise<never>((_, reject) => this.socket.once('close', () => reject(this.endedBy)));
    const hello = new JuteWriter()
      .int(0)
      .long(lastZxid)
      .int(timeout)
      .raw(Buffer.from(session?.id ?? NO_SESSION, 'hex'))
      .bytes(session?.password ?? Buffer.alloc(16))
      .bool(false);
    this.socket.write(hello.frame());
    const from = await Promise.race([handshake, closed]);
    this.timeout.stop();
    this.isOpen = true;
    from.int();
    const agreed = from.int();
    const id = from.id();
    if (agreed <= 0) return undefined;
    this.startPings(agreed);
    const { auth } = this.settings;
    if (auth !== undefined) await this.send(authenticate(auth.scheme, auth.credentials), XID.auth);
    return { id, password: Buffer.from(from.bytes()), timeout: agreed };
  }

  /** Rejects with a `LockStoreError`: a `ZooKeeperError` if ZooKeeper rejected the request. */
  request<T>(operation: Operation<T>): Promise<T> {
    return this.send(operation, (this.xid = (this.xid % 0x7fff_fffe) + 1));
  }

  /** Number of requests without a reply. */
  get underWay(): number {
    return this.pending.size;
  }

  cut(why: Error): void {
    this.failure ??= why;
    this.socket.destroy();
  }

  private send<T>(operation: Operation<T>, xid: number): Promise<T> {
    if (this.socket.destroyed) return Promise.reject(notConnected(this.failure));
    const request = new JuteWriter().int(xid).int(operation.type);
    operation.write(request);
    const frame = request.frame();
    if (frame.length > LONGEST_REQUEST)
      return Promise.reject(new RequestTooLongError(frame.length, LONGEST_REQUEST));
    this.isIdle = false;
    this.unsent.push({ frame, isSentAtExit: operation.isSentAtExit === true });
    if (this.unsent.length === 1) process.nextTick(this.flush);
    return new Promise<T>((resolve, reject) => {
      this.pending.add({ xid, operation, resolve, reject });
      if (this.pending.size === 1) this.timeout.start();
    });
  }

  private readonly flush = (): void => {
    const { unsent, socket } = this;
    if (unsent.length === 0 || socket.destroyed) return;
    this.unsent = [];
    socket.cork();
    for (const { frame } of unsent) socket.write(frame);
    socket.uncork();
  };

  /** Keeps an idle session alive, and detects a server that no longer replies. */
  private startPings(sessionTimeout: number): void {
    const pingIfIdle = (): void => {
      if (this.isIdle && this.pending.size === 0) this.send(ping, XID.ping).catch(() => undefined);
      this.isIdle = true;
    };
    this.pings = setInterval(pingIfIdle, pingInterval(sessionTimeout) / 2).unref();
  }

  private read(chunk: Buffer): void {
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    while (this.received.length >= 4) {
      const length = this.received.readInt32BE(0);
      if (length < 0 || length > LONGEST_REPLY) {
        this.cut(new Error('the server does not speak the protocol of ZooKeeper'));
        return;
      }
      if (this.received.length < 4 + length) return;
      const frame = this.received.subarray(4, 4 + length);
      this.received = this.received.subarray(4 + length);
      try {
        this.handle(new JuteReader(frame));
      } catch (error) {
        this.cut(new Error(`a reply could not be read: ${messageOf(error)}`));
      }
      // After an unreadable reply, nothing else on this connection can be trusted.
      if (this.socket.destroyed) return;
    }
  }

  private handle(from: JuteReader): void {
    if (this.onHandshake !== undefined) {
      this.onHandshake(from);
      this.onHandshake = undefined;
      return;
    }
    const xid = from.int();
    const zxid = from.long();
    const code = from.int();
    if (xid === XID.event) {
      const type = from.int();
      from.int();
      this.listener.event({ type, path: from.text() });
      return;
    }
    const [first] = this.pending;
    if (first?.xid !== xid) throw new Error('it replies to another request than the one that is due');
    this.pending.delete(first);
    if (this.pending.size === 0) this.timeout.stop();
    else this.timeout.start();
    this.listener.replied(zxid);
    if (code !== 0) {
      first.reject(new ZooKeeperError(code));
      return;
    }
    try {
      first.resolve(first.operation.read(from));
    } catch (error) {
      // A transaction has the error among the replies of its parts.
      if (error instanceof ZooKeeperError) first.reject(error);
      else {
        first.reject(storeFailure(`the reply of ZooKeeper could not be used (${messageOf(error)})`));
        throw error;
      }
    }
  }

  private end(): void {
    this.stopAtExit();
    clearInterval(this.pings);
    this.timeout.stop();
    const pending = [...this.pending];
    this.pending.clear();
    this.listener.closed(this.endedBy);
    for (const request of pending) request.reject(answerLost('ZooKeeper', this.endedBy, zooKeeperRemedies));
  }

  private get endedBy(): Error {
    if (this.isOpen) return this.failure ?? new Error('the server closed the connection');
    const code = this.failure !== undefined && 'code' in this.failure ? this.failure.code : undefined;
    // A server that has not read the client's request yet closes the connection by a reset.
    if (this.failure !== undefined && code !== 'ECONNRESET' && code !== 'EPIPE') return this.failure;
    const text = 'the server closed the connection before it opened a session';
    return new Error(text, this.failure && { cause: this.failure });
  }
}
