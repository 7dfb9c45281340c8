import type { EtcdTlsOptions } from '../tls-options.js';

/** Who to be for etcd. */
export interface EtcdCredentials {
  readonly username: string;
  readonly password: string | (() => string | Promise<string>);
}

/** How to reach a cluster, checked. */
export interface EtcdConnectionOptions {
  /** `host:port` of its members. */
  readonly addresses: readonly string[];
  /** Undefined where nothing is encrypted. */
  readonly tls: EtcdTlsOptions | undefined;
  /** Undefined where users are not told apart, or by their certificates. */
  readonly credentials: EtcdCredentials | undefined;
}
