import { inMs } from '../../../common/durations.js';
import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { atExit } from '../../port/at-exit.js';
import { ReplyTimeout } from '../../port/times.js';
import { answerLost, messageOf } from '../../port/store-failure.js';
import { pingInterval } from '../locks/session-times.js';
import { JuteReader, JuteWriter } from './jute.js';
import { authenticate, ping, type Operation } from './operations.js';
import { connectTo, type ZooKeeperHost } from './server-socket.js';
import { ZooKeeperError } from './zookeeper-error.js';
import { notConnected, zooKeeperFailure } from './zookeeper-failure.js';
import { zooKeeperRemedies } from './zookeeper-remedies.js';

/** What a client shows to go on with its session on another connection. */
export interface SessionIdentity {
  /** 16 hexadecimal digits. */
  readonly id: string;
  readonly password: Buffer;
  /** That the server has agreed to, ms. */
  readonly timeout: number;
}

export interface SocketSettings {
  readonly tls: ConnectionOptions | undefined;
  readonly auth: { readonly scheme: string; readonly credentials: string } | undefined;
  /** ms that an answer may take. */
  readonly requestTimeout: number;
}

/** Types of events. */
export const EVENT = { deleted: 2, dataChanged: 3, childrenChanged: 4 } as const;

/** What the server tells without being asked. */
export interface WatchEvent {
  readonly type: number;
  readonly path: string;
}

export interface SocketListener {
  event(event: WatchEvent): void;
  /** Anything was answered. */
  heard(zxid: number): void;
  closed(cause: Error): void;
}

const XID = { event: -1, ping: -2, auth: -4 } as const;
const NOTHING = '0'.repeat(16);
/** Longer than any answer to what is asked here; longer ones come from something else than ZooKeeper. */
const LONGEST_ANSWER = 64 * 1024 * 1024;

interface Gathered {
  readonly frame: Uint8Array;
  readonly givesBack: boolean;
}

interface Pending {
  readonly xid: number;
  readonly operation: Operation<unknown>;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * One connection to one server. Requests are written in the order in which they are made and answered in that order; none
 * is kept back and none is sent twice.
 */
export class ZooKeeperSocket {
  private readonly socket: Socket;
  private readonly timeout: ReplyTimeout;
  private readonly pending = new Set<Pending>();
  private received: Buffer = Buffer.alloc(0);
  private onHandshake: ((answer: JuteReader) => void) | undefined;
  private xid = 0;
  private failure: Error | undefined;
  /** To be written at the end of this tick. */
  private gathered: Gathered[] = [];
  private readonly stopAtExit: () => void;
  private pinging: NodeJS.Timeout | undefined;
  private isIdle = false;

  constructor(
    host: ZooKeeperHost,
    private readonly settings: SocketSettings,
    private readonly listener: SocketListener,
  ) {
    this.timeout = new ReplyTimeout(settings.requestTimeout, () => {
      this.cut(`no answer within ${inMs(settings.requestTimeout)}`);
    });
    this.socket = connectTo(host, settings.tls);
    // Callers were told that what is given back is on its way. What is asked for has nobody any more.
    this.stopAtExit = atExit(() => {
      this.gathered = this.gathered.filter(({ givesBack }) => givesBack);
      this.flush();
    });
    this.socket.on('data', (chunk: Buffer) => {
      this.read(chunk);
    });
    this.socket.on('error', (error: Error) => {
      this.failure ??= error;
    });
    this.socket.on('close', () => {
      this.end();
    });
  }

  /**
   * Opens a session, or goes on with one. Undefined if that is over.
   *
   * @param lastZxid the latest state that this client has seen: a server that is behind refuses it
   */
  async open(
    session: SessionIdentity | undefined,
    timeout: number,
    lastZxid: number,
  ): Promise<SessionIdentity | undefined> {
    this.timeout.start();
    const answer = new Promise<JuteReader>((resolve) => (this.onHandshake = resolve));
    const closed = new Promise<never>((_, reject) => {
      this.socket.once('close', () => {
        reject(this.failure ?? new Error('the server closed the connection'));
      });
    });
    const password = session?.password ?? Buffer.alloc(16);
    const hello = new JuteWriter()
      .int(0)
      .long(lastZxid)
      .int(timeout)
      .raw(Buffer.from(session?.id ?? NOTHING, 'hex'))
      .bytes(password)
      .bool(false);
    this.socket.write(hello.frame());
    const from = await Promise.race([answer, closed]);
    this.timeout.stop();
    from.int();
    const agreed = from.int();
    const id = from.id();
    if (agreed <= 0) return undefined;
    this.ping(agreed);
    const { auth } = this.settings;
    if (auth !== undefined) await this.send(authenticate(auth.scheme, auth.credentials), XID.auth);
    return { id, password: Buffer.from(from.bytes()), timeout: agreed };
  }

  /** Rejects with a `LockStoreError`, or a `ZooKeeperError` that ZooKeeper answered. */
  request<T>(operation: Operation<T>): Promise<T> {
    return this.send(operation, (this.xid = (this.xid % 0x7fff_fffe) + 1));
  }

  /** How many requests have not been answered yet. */
  get underWay(): number {
    return this.pending.size;
  }

  cut(why: string): void {
    this.failure ??= new Error(why);
    this.socket.destroy();
  }

  private send<T>(operation: Operation<T>, xid: number): Promise<T> {
    if (this.socket.destroyed) return Promise.reject(notConnected(this.failure));
    const request = new JuteWriter().int(xid).int(operation.type);
    operation.write(request);
    this.isIdle = false;
    this.gather({ frame: request.frame(), givesBack: operation.givesBack === true });
    return new Promise<T>((resolve, reject) => {
      this.pending.add({ xid, operation, resolve, reject });
      if (this.pending.size === 1) this.timeout.start();
    });
  }

  /** Requests of one turn travel together. */
  private gather(request: Gathered): void {
    if (this.gathered.push(request) === 1) process.nextTick(this.flush);
  }

  private readonly flush = (): void => {
    const { gathered, socket } = this;
    if (gathered.length === 0 || socket.destroyed) return;
    this.gathered = [];
    socket.cork();
    for (const { frame } of gathered) socket.write(frame);
    socket.uncork();
  };

  /** Keeps the session alive while nothing else is asked, and finds out when the server does not answer any more. */
  private ping(sessionTimeout: number): void {
    this.pinging = setInterval(
      () => {
        if (this.isIdle && this.pending.size === 0) {
          this.send(ping, XID.ping).catch(() => undefined);
        }
        this.isIdle = true;
      },
      pingInterval(sessionTimeout) / 2,
    );
    this.pinging.unref();
  }

  private read(chunk: Buffer): void {
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    while (this.received.length >= 4) {
      const length = this.received.readInt32BE(0);
      if (length < 0 || length > LONGEST_ANSWER) {
        this.cut('the server does not speak the protocol of ZooKeeper');
        return;
      }
      if (this.received.length < 4 + length) return;
      const frame = this.received.subarray(4, 4 + length);
      this.received = this.received.subarray(4 + length);
      try {
        this.take(new JuteReader(frame));
      } catch (error) {
        this.cut(`an answer could not be read: ${messageOf(error)}`);
      }
      // What follows is of a connection that nobody trusts any more.
      if (this.socket.destroyed) return;
    }
  }

  private take(from: JuteReader): void {
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
    if (first?.xid !== xid) throw new Error('it answers another request than the one that is due');
    this.pending.delete(first);
    if (this.pending.size === 0) this.timeout.stop();
    else this.timeout.start();
    this.listener.heard(zxid);
    if (code !== 0) {
      first.reject(new ZooKeeperError(code));
      return;
    }
    try {
      first.resolve(first.operation.read(from));
    } catch (error) {
      if (!(error instanceof ZooKeeperError)) {
        first.reject(zooKeeperFailure(error));
        throw error;
      }
      first.reject(error);
    }
  }

  private end(): void {
    this.stopAtExit();
    clearInterval(this.pinging);
    this.timeout.stop();
    const cause = this.failure ?? new Error('the server closed the connection');
    const pending = [...this.pending];
    this.pending.clear();
    this.listener.closed(cause);
    for (const request of pending) request.reject(answerLost('ZooKeeper', cause, zooKeeperRemedies));
  }
}
