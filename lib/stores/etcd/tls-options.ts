/** How to prove who one is, and to whom one speaks. PEM. */
export interface EtcdTlsOptions {
  /** Of the authority that has signed the members' certificates; those of the system if left out. */
  readonly ca?: string | Uint8Array | undefined;
  /** The client's certificate, with its `key`. */
  readonly cert?: string | Uint8Array | undefined;
  readonly key?: string | Uint8Array | undefined;
  /** The name that the members' certificates are for, if not that of the host. */
  readonly serverName?: string | undefined;
}
