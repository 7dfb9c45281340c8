import { LockOptionsError } from '../../../model/lock.errors.js';
import { shown } from '../../../model/option-checks.js';

const DEFAULT_PORT = 2_379;

/** Where the members of a cluster are. */
export interface Hosts {
  /** `host:port`, each once. */
  readonly addresses: readonly string[];
  /** Whether they were given as `https://`; undefined if none says how to speak to it. */
  readonly isSecure: boolean | undefined;
}

/** @throws LockOptionsError unless each is `host`, `host:port` or a URL of one */
export function readHosts(where: string, hosts: unknown): Hosts {
  const all: readonly unknown[] = Array.isArray(hosts) ? hosts : [hosts];
  if (all.length === 0) {
    throw new LockOptionsError(`${where} must name at least one member, such as 'localhost:2379'; got none.`);
  }
  const read = all.map((host) => readHost(where, host));
  const schemes = new Set(read.flatMap(({ isSecure }) => isSecure ?? []));
  if (schemes.size > 1) {
    throw new LockOptionsError(`${where} must be all http:// or all https://; got both.`);
  }
  return { addresses: [...new Set(read.map(({ address }) => address))], isSecure: [...schemes][0] };
}

function readHost(where: string, host: unknown): { address: string; isSecure: boolean | undefined } {
  const refuse = (): never => {
    // A URL may have a password in it.
    const given = typeof host === 'string' ? 'a text that is none of these' : shown(host);
    throw new LockOptionsError(
      `${where} must be 'host:port', 'http://host:port' or 'https://host:port', or an array of these; got ${given}.`,
    );
  };
  if (typeof host !== 'string' || host === '') return refuse();
  const [, scheme] = /^(https?):\/\//.exec(host) ?? [];
  let url: URL;
  try {
    url = new URL(scheme === undefined ? `http://${host}` : host);
  } catch {
    return refuse();
  }
  if (url.username !== '' || url.password !== '') {
    throw new LockOptionsError(
      `${where}: give username and password as options of their own, not within a URL.`,
    );
  }
  if (url.hostname === '' || url.pathname !== '/' || url.search !== '' || url.hash !== '') return refuse();
  // A URL leaves out the port that its scheme has by itself.
  const port = url.port === '' ? (/:(80|443)\/?$/.exec(host)?.[1] ?? String(DEFAULT_PORT)) : url.port;
  return {
    address: `${url.hostname}:${port}`,
    isSecure: scheme === undefined ? undefined : scheme === 'https',
  };
}
