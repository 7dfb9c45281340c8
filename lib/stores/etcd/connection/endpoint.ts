import { setImmediate } from 'node:timers';
import type * as Grpc from '@grpc/grpc-js';
import type { ChannelCredentials, Client, ClientUnaryCall, Metadata, ServiceError } from '@grpc/grpc-js';
import { inMs } from '../../../common/durations.js';
import { refuseMissingPeer } from '../../../model/missing-peer.js';
import { messageOf } from '../../port/store-failure.js';
import { ReplyTimeout } from '../../port/times.js';
import type { EtcdTlsOptions } from './etcd-options.js';
import { methods, type Credentials, type Method } from './protocol.js';
import { EtcdError, etcdError, status } from './etcd-failure.js';
import { OpenedSockets } from './grpc-sockets.js';

/** gRPC's retries and shared connections could send a request twice, late, or to a member that is no longer used. */
const CHANNEL = {
  'grpc.enable_retries': 0,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.max_receive_message_length': -1,
} as const;

/**
 * Loads gRPC, which applications with another store do not install.
 *
 * @throws LockOptionsError if it is not installed
 */
export function grpc(): typeof Grpc {
  try {
    return require('@grpc/grpc-js') as typeof Grpc;
  } catch (error) {
    return refuseMissingPeer('etcdStore', '@grpc/grpc-js', error);
  }
}

export function channelCredentials(tls: EtcdTlsOptions | undefined): ChannelCredentials {
  const { credentials } = grpc();
  if (tls === undefined) return credentials.createInsecure();
  const pem = (value: string | Uint8Array | undefined): Buffer | null =>
    value === undefined ? null : Buffer.from(value);
  return credentials.createSsl(pem(tls.ca), pem(tls.key), pem(tls.cert));
}

function metadataWith(token: string | undefined): Metadata {
  const { Metadata } = grpc();
  const metadata = new Metadata();
  // Makes a member that has lost the majority reject requests at once.
  metadata.set('hasleader', 'true');
  if (token !== undefined) metadata.set('token', token);
  return metadata;
}

interface PendingCall {
  readonly sentAt: number;
  abort(error: Error): void;
}

/**
 * A connection to one member. It ends when the member is dead, knows no leader, or has lost a request. A member that is
 * only slow is waited for: to repeat its requests would make it slower.
 */
export class Endpoint {
  private readonly client: Client;
  /** Oldest first. */
  private readonly pending = new Set<PendingCall>();
  /** When the latest of the requests with a reply was sent. */
  private repliedTo = -Infinity;
  /** Runs out when no reply has arrived for a quarter of the time of a request. */
  private readonly silence: ReplyTimeout;
  /** The question whether it is alive, without a reply so far. */
  private probe: ClientUnaryCall | undefined;
  /** How many quarters have passed since. */
  private quarters = 0;
  private isReading = false;
  private isOpen = false;
  private readonly streams: { cancel(): void }[] = [];
  private readonly opened = new OpenedSockets();
  private readonly withoutToken = metadataWith(undefined);
  private metadata = this.withoutToken;
  private isCut = false;
  /** Called once, when the connection is lost. */
  onDown: ((why: Error) => void) | undefined;

  constructor(
    readonly address: string,
    channel: ChannelCredentials,
    serverName: string | undefined,
    private readonly requestTimeout: number,
  ) {
    const { Client } = grpc();
    this.silence = new ReplyTimeout(requestTimeout / 4, () => this.onSilence());
    this.client = new Client(address, channel, {
      ...CHANNEL,
      ...(serverName !== undefined && {
        'grpc.ssl_target_name_override': serverName,
        'grpc.default_authority': serverName,
      }),
    });
  }

  /** Connects: the first request opens the connection, and fails with the cause if that is not possible. */
  async open(timeout: number): Promise<void> {
    const patience = new ReplyTimeout(timeout, () => this.cut(this.silent(timeout)));
    patience.start();
    try {
      await this.opened.during(() => this.call(methods.status, undefined));
    } catch (error) {
      // Any other reply of etcd, such as an unknown user, shows that the connection works.
      const isReply = error instanceof EtcdError && (error.code !== status.unavailable || error.isOfServer);
      const message = `${this.address} can't be reached (${messageOf(error)})`;
      if (!isReply) throw new Error(message, { cause: error });
    } finally {
      patience.stop();
    }
    this.isOpen = true;
    this.opened.keep();
    // gRPC may reconnect unnoticed, but pending requests are lost. It would also reconnect a closed channel.
    if (this.isCut) return;
    this.client.getChannel().watchConnectivityState(grpc().connectivityState.READY, Infinity, () => {
      this.cut(new Error(`the connection to ${this.address} was lost`));
    });
  }

  /** Identifies the token in use. */
  get token(): unknown {
    return this.metadata;
  }

  /** Requests use the current token until the new one arrives. */
  async authenticate(credentials: Credentials): Promise<void> {
    const token = await this.call(methods.authenticate, credentials, { metadata: this.withoutToken });
    this.metadata = metadataWith(token);
  }

  /** Rejects with an `EtcdError`, or with another error if there was no reply. */
  call<Request, Reply>(
    method: Method<Request, Reply>,
    request: Request,
    { metadata = this.metadata } = {},
  ): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      if (this.isCut) {
        reject(new Error(`the connection to ${this.address} was lost`));
        return;
      }
      const pending: PendingCall = {
        sentAt: performance.now(),
        abort: (error) => {
          call.cancel();
          reject(error);
        },
      };
      this.pending.add(pending);
      if (this.isOpen && this.pending.size === 1) this.silence.start();
      const call = this.send(method, request, metadata, (error, reply) => {
        if (!this.pending.delete(pending)) return;
        if (error === null) resolve(reply as Reply);
        else reject(etcdError(error));
        if (this.isOpen) this.onReply(pending);
      });
    });
  }

  /** Opens a stream in both directions; it ends with the connection. */
  stream<Request, Reply>(
    method: Method<Request, Reply>,
    onMessage: (reply: Reply) => void,
  ): { send(request: Request): void } {
    const { path, encode, decode } = method;
    const stream = this.client.makeBidiStreamRequest(path, encode, decode, this.metadata, {});
    this.streams.push(stream);
    stream.on('data', (reply: Reply) => {
      if (!this.isCut) onMessage(reply);
    });
    stream.on('error', (error: Error) => this.cut(etcdError(error)));
    stream.on('end', () => this.cut(new Error(`${this.address} has ended a stream`)));
    return {
      send: (request) => {
        if (!this.isCut) stream.write(request);
      },
    };
  }

  /** Ends the connection. Pending requests are in doubt. */
  cut(why: Error): void {
    if (this.isCut) return;
    this.isCut = true;
    for (const stream of this.streams) stream.cancel();
    // etcd may still carry out these requests, although it has refused another one, or a stream.
    const lost = why instanceof EtcdError ? new Error(`the connection was lost: ${why.message}`) : why;
    this.silence.stop();
    this.probe?.cancel();
    const pending = [...this.pending];
    this.pending.clear();
    for (const call of pending) call.abort(lost);
    this.client.close();
    setImmediate(() => {
      // If it was closed in the turn of its first request, gRPC would begin to connect only now.
      this.client.close();
      this.opened.end();
    });
    this.onDown?.(why);
  }

  private send<Request, Reply>(
    method: Method<Request, Reply>,
    request: Request,
    metadata: Metadata,
    done: (error: ServiceError | null, reply?: Reply) => void,
  ): ClientUnaryCall {
    const { path, encode, decode } = method;
    return this.client.makeUnaryRequest(path, encode, decode, request, metadata, {}, done);
  }

  private onReply({ sentAt }: PendingCall): void {
    this.repliedTo = Math.max(this.repliedTo, sentAt);
    this.quarters = 0;
    if (this.pending.size === 0) this.silence.stop();
    else if (this.hasLostOldest()) this.cut(this.silent(this.requestTimeout));
    else this.silence.start();
  }

  /** Replies come about in the order of the requests, since etcd carries them out in one order. */
  private hasLostOldest(): boolean {
    const [oldest] = this.pending;
    if (oldest === undefined || performance.now() - oldest.sentAt < this.requestTimeout) return false;
    return this.repliedTo - oldest.sentAt >= this.requestTimeout / 2;
  }

  /**
   * A member replies to the first question even if etcd is slow, and to the second one only after everything sent
   * earlier: a leader that has died takes requests with it.
   */
  private onSilence(): void {
    this.quarters += 1;
    if (this.hasLostOldest() || (this.probe !== undefined && this.quarters > 3)) {
      this.cut(this.silent(this.requestTimeout));
      return;
    }
    this.silence.start();
    if (this.probe !== undefined) return;
    this.quarters = 1;
    this.probe = this.send(methods.status, undefined, this.metadata, (error, member) => {
      this.probe = undefined;
      if (error !== null) this.cut(etcdError(error));
      else if (member?.hasLeader !== true) this.cut(new Error(`${this.address} knows no leader`));
    });
    if (this.isReading) return;
    this.isReading = true;
    const read = { do: 'range', key: '\0', countOnly: true } as const;
    this.call(methods.range, read).then(
      () => (this.isReading = false),
      (error: unknown) => {
        this.isReading = false;
        // A refusal is a reply, too.
        if (!(error instanceof EtcdError && error.isRefusal)) this.cut(error as Error);
      },
    );
  }

  private silent(ms: number): Error {
    return new Error(`${this.address} did not reply within ${inMs(ms)}`);
  }
}
