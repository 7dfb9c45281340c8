import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';

/** One server. */
export interface ZooKeeperHost {
  readonly host: string;
  readonly port: number;
}

/** For people. */
export function nameOf({ host, port }: ZooKeeperHost): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${String(port)}`;
}

/** @param tls undefined for a connection in the clear */
export function connectTo({ host, port }: ZooKeeperHost, tls: ConnectionOptions | undefined): Socket {
  const socket =
    tls === undefined
      ? connect({ host, port, noDelay: true })
      : connectTls({ ...(isIP(host) === 0 && { servername: host }), ...tls, host, port });
  return socket.setNoDelay(true);
}
