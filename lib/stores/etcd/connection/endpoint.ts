import { setImmediate } from 'node:timers';
import type * as Grpc from '@grpc/grpc-js';
import type { ChannelCredentials, Client, ClientUnaryCall, Metadata } from '@grpc/grpc-js';
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

/** A connection to one member. A request that times out ends the connection. */
export class Endpoint {
  private readonly client: Client;
  /** Aborts each pending request. */
  private readonly pending = new Set<(error: Error) => void>();
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
    try {
      await this.opened.during(() => this.call(methods.status, undefined, { timeout }));
    } catch (error) {
      // Any other reply of etcd, such as an unknown user, shows that the connection works.
      const isReply = error instanceof EtcdError && (error.code !== status.unavailable || error.isOfServer);
      const message = `${this.address} can't be reached (${messageOf(error)})`;
      if (!isReply) throw new Error(message, { cause: error });
    }
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
    { metadata = this.metadata, timeout = this.requestTimeout } = {},
  ): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      if (this.isCut) {
        reject(new Error(`the connection to ${this.address} was lost`));
        return;
      }
      const settle = (): boolean => {
        patience.stop();
        return this.pending.delete(abort);
      };
      const abort = (error: Error): void => {
        if (!settle()) return;
        call.cancel();
        reject(error);
      };
      const patience = new ReplyTimeout(timeout, () => {
        this.cut(new Error(`${this.address} did not reply within ${inMs(timeout)}`));
      });
      this.pending.add(abort);
      patience.start();
      const call: ClientUnaryCall = this.client.makeUnaryRequest(
        method.path,
        method.encode,
        method.decode,
        request,
        metadata,
        {},
        (error, reply) => {
          if (!settle()) return;
          if (error === null) resolve(reply as Reply);
          else reject(etcdError(error));
        },
      );
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
    stream.on('error', (error: Error) => {
      this.cut(etcdError(error));
    });
    stream.on('end', () => {
      this.cut(new Error(`${this.address} has ended a stream`));
    });
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
    for (const abort of [...this.pending]) abort(lost);
    this.client.close();
    setImmediate(() => {
      // If it was closed in the turn of its first request, gRPC would begin to connect only now.
      this.client.close();
      this.opened.end();
    });
    this.onDown?.(why);
  }
}
