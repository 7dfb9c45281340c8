import { isIP } from 'node:net';
import { LockOptionsError } from '../../model/lock.errors.js';
import { check, refuse, shownWithoutText } from '../../model/option-checks.js';

/** A server of a store. */
export interface Host {
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** Undefined if the host has none. */
  readonly scheme: string | undefined;
}

/** The rules of a store for its option `hosts`. */
interface HostRules {
  readonly defaultPort: number;
  /** A valid setting. */
  readonly example: string;
  /** Schemes that may precede a host. */
  readonly schemes: readonly string[];
  /** The options for what users may write into the address of a host. */
  readonly credentials: string;
  readonly path?: string;
}

/**
 * Reads the option `hosts`: a list, or a comma-separated string, as in environment variables. Removes duplicates.
 *
 * @throws LockOptionsError for invalid hosts
 */
export function readHosts(where: string, hosts: unknown, rules: HostRules): readonly Host[] {
  if (hosts === undefined) {
    throw new LockOptionsError(
      `${where}: hosts is undefined. If it comes from an environment variable, that one is not set: set it, or write a ` +
        `value, such as ${rules.example}.`,
    );
  }
  const list: unknown = typeof hosts === 'string' ? hosts.split(',') : hosts;
  const isList = Array.isArray(list) && list.length > 0;
  check(isList, where, `hosts must name at least one server, as in ${rules.example}`, hosts);
  const read = new Map(
    list.map((text: unknown) => {
      const host = readHost(where, text, rules);
      return [`${host.scheme ?? ''} ${addressOf(host)}`, host] as const;
    }),
  );
  return [...read.values()];
}

function readHost(where: string, text: unknown, rules: HostRules): Host {
  const { defaultPort, schemes, credentials, path } = rules;
  const or = schemes.map((scheme) => `, '${scheme}://host:port'`).join('');
  const rule = `each of hosts must be 'host' or 'host:port'${or} (port ${defaultPort} if it is left out)`;
  if (typeof text !== 'string') return refuse(where, rule, text);
  const [, scheme, inBrackets, plain, digits, slash] =
    /^(?:(\w+):\/\/)?(?:\[([\da-fA-F:.]+)\]|([^\s:/?#[\]@,]+))(?::(\d{1,5}))?(\/)?$/.exec(text.trim()) ?? [];
  const host = inBrackets ?? plain;
  // A URL may end with a slash.
  const isGood = scheme === undefined ? slash === undefined : schemes.includes(scheme);
  if (host === undefined || !isGood) {
    const user = text.includes('@') ? `. User and password go into ${credentials}` : '';
    const node = path !== undefined && text.includes('/') ? `. ${path}` : '';
    // It may contain a password.
    throw new LockOptionsError(`${where}: ${rule}${node}${user}; got ${shownWithoutText(text)}.`);
  }
  const port = Number(digits ?? defaultPort);
  check(port >= 1 && port <= 65_535, where, 'the port of a host must be from 1 to 65535', port);
  return { host, port, scheme };
}

/** With brackets around an IPv6 address. */
export function addressOf({ host, port }: Pick<Host, 'host' | 'port'>): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
