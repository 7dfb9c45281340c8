import { ForbiddenException, UnsupportedMediaTypeException } from '@nestjs/common';

/** Headers in lower case, as Node has them. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Refuses what another site may have had a browser send. Browsers say where a request comes from in `Sec-Fetch-Site`, but
 * not to pages without TLS; there they still send `Origin`. What says neither is no page.
 */
export function checkSameOrigin(headers: Headers): void {
  const site = headers['sec-fetch-site'];
  const isOwn = site === undefined ? hostOf(headers['origin']) === headers['host'] : site === 'same-origin';
  if (!isOwn) throw new ForbiddenException('Locks are broken from the page only, not from another site.');
  const type = headers['content-type'];
  if (typeof type !== 'string' || !/^application\/json\b/i.test(type)) {
    throw new UnsupportedMediaTypeException('What is to be done has to be JSON.');
  }
}

/**
 * Refuses a request for a host that is none of these, where there are any: a site whose name has been given the address of
 * this application is the same origin for a browser.
 */
export function checkHost(headers: Headers, hosts: readonly string[] | undefined): void {
  if (hosts === undefined) return;
  const given = headers['host'] ?? headers[':authority'];
  const host = typeof given === 'string' ? given.toLowerCase() : '';
  if (hosts.includes(host) || hosts.includes(host.replace(/:\d+$/, ''))) return;
  throw new ForbiddenException(
    `The page is not served as ${JSON.stringify(host)}. Add the host to hosts of LockDashboardModule.forRoot() if it is right.`,
  );
}

/** Never equal to a host that is there, where there is none. */
function hostOf(origin: Headers[string]): string | null {
  if (typeof origin !== 'string') return null;
  try {
    return new URL(origin).host;
  } catch {
    return null;
  }
}
