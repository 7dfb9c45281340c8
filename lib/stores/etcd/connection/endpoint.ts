import { inMs } from '../../../common/durations.js';
import {
  Client,
  Metadata,
  connectivityState,
  credentials,
  type ChannelCredentials,
  type ClientDuplexStream,
  type ClientUnaryCall,
} from '@grpc/grpc-js';
import { ReplyTimeout } from '../../port/times.js';
import { methods, type Method } from '../protocol/methods.js';
import type { Credentials } from '../protocol/requests.js';
import type { EtcdTlsOptions } from '../tls-options.js';
import { EtcdError, etcdError } from './etcd-failure.js';
import { OpenedSockets } from './opened-sockets.js';

/** gRPC's own repetitions and shared connections would send things twice or late, or to members that were given up. */
const CHANNEL = {
  'grpc.enable_retries': 0,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.max_receive_message_length': -1,
} as const;

export function channelCredentials(tls: EtcdTlsOptions | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const pem = (value: string | Uint8Array | undefined): Buffer | null =>
    value === undefined ? null : Buffer.from(value);
  return credentials.createSsl(pem(tls.ca), pem(tls.key), pem(tls.cert));
}

function metadataWith(token: string | undefined): Metadata {
  const metadata = new Metadata();
  // A member that has lost the others says so at once.
  metadata.set('hasleader', 'true');
  if (token !== undefined) metadata.set('token', token);
  return metadata;
}

/** A connection to one member. What it does not answer in time is given up, and the connection with it. */
export class Endpoint {
  private readonly client: Client;
  /** Of requests under way: what ends them. */
  private readonly underWay = new Set<(error: Error) => void>();
  private readonly streams = new Set<ClientDuplexStream<never, unknown>>();
  private readonly opened = new OpenedSockets();
  private readonly withoutToken = metadataWith(undefined);
  private metadata = this.withoutToken;
  private isCut = false;
  /** Called once, when it can't be used any more. */
  onDown: ((why: Error) => void) | undefined;

  constructor(
    readonly address: string,
    channel: ChannelCredentials,
    serverName: string | undefined,
    private readonly requestTimeout: number,
  ) {
    this.client = new Client(address, channel, {
      ...CHANNEL,
      ...(serverName !== undefined && {
        'grpc.ssl_target_name_override': serverName,
        'grpc.default_authority': serverName,
      }),
    });
  }

  /** Resolves when it is connected. */
  async open(timeout: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const settle = (): boolean => {
        clearTimeout(timer);
        return this.underWay.delete(abort);
      };
      const abort = (error: Error): void => {
        if (settle()) reject(error);
      };
      // Why it can't be connected to is said to a request only.
      let why = '';
      const ask = (): void => {
        this.call(methods.status, undefined).catch((error: unknown) => {
          if (error instanceof EtcdError) why = ` (${error.message})`;
        });
      };
      // Not a deadline of gRPC: its timer runs on when the channel is closed, and keeps the process alive.
      const timer = setTimeout(() => {
        abort(new Error(`${this.address} can't be reached${why}`));
      }, timeout);
      this.underWay.add(abort);
      const channel = this.client.getChannel();
      const look = (): void => {
        // A channel that is asked how it is connects again, even one that was closed: gRPC's own `waitForReady` does that.
        if (this.isCut) return;
        const state = channel.getConnectivityState(true);
        if (state === connectivityState.TRANSIENT_FAILURE && why === '') ask();
        if (state !== connectivityState.READY) channel.watchConnectivityState(state, Infinity, look);
        else if (settle()) resolve();
      };
      this.opened.during(look);
    });
    this.opened.keep();
    // A connection that was lost may be back before anybody has seen that: what was under way on it is gone all the same.
    this.client.getChannel().watchConnectivityState(connectivityState.READY, Infinity, () => {
      this.cut(new Error(`the connection to ${this.address} was lost`));
    });
  }

  /** What tells one token from the next. */
  get token(): unknown {
    return this.metadata;
  }

  /** Requests go on with the token that they have until there is a new one. */
  async authenticate(credentials: Credentials): Promise<void> {
    const token = await this.call(methods.authenticate, credentials, this.withoutToken);
    this.metadata = metadataWith(token);
  }

  /** Rejects with an `EtcdError`, or another one if nothing was answered. */
  call<Request, Reply>(
    method: Method<Request, Reply>,
    request: Request,
    metadata = this.metadata,
  ): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      if (this.isCut) {
        reject(new Error(`the connection to ${this.address} was lost`));
        return;
      }
      const settle = (): boolean => {
        timeout.stop();
        return this.underWay.delete(abort);
      };
      const abort = (error: Error): void => {
        if (!settle()) return;
        call.cancel();
        reject(error);
      };
      const timeout = new ReplyTimeout(this.requestTimeout, () => {
        this.cut(new Error(`${this.address} did not answer within ${inMs(this.requestTimeout)}`));
      });
      this.underWay.add(abort);
      timeout.start();
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

  /** Messages both ways. Its end is that of the connection, unless it is ended here. */
  stream<Request, Reply>(
    method: Method<Request, Reply>,
    onMessage: (reply: Reply) => void,
  ): { send(request: Request): void; end(): void } {
    const stream = this.client.makeBidiStreamRequest(
      method.path,
      method.encode,
      method.decode,
      this.metadata,
      {},
    );
    const known = stream as unknown as ClientDuplexStream<never, unknown>;
    this.streams.add(known);
    const ended = (error: Error): void => {
      if (this.streams.delete(known)) this.cut(error);
    };
    stream.on('data', (reply: Reply) => {
      if (this.streams.has(known)) onMessage(reply);
    });
    stream.on('error', (error: Error) => {
      ended(etcdError(error));
    });
    stream.on('end', () => {
      ended(new Error(`${this.address} has ended a stream`));
    });
    return {
      send: (request) => {
        if (this.streams.has(known)) stream.write(request);
      },
      end: () => {
        if (this.streams.delete(known)) stream.cancel();
      },
    };
  }

  /** Ends everything on it. What was not answered is in doubt. */
  cut(why: Error): void {
    if (this.isCut) return;
    this.isCut = true;
    for (const stream of this.streams) stream.cancel();
    this.streams.clear();
    for (const abort of [...this.underWay]) abort(why);
    this.client.close();
    this.opened.destroy();
    this.onDown?.(why);
  }
}
