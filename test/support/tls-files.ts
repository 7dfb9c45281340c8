import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface TlsFiles {
  /** The certificate of the authority that clients must trust, PEM. */
  readonly ca: string;
  /** For the server, which requests no client certificate. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Creates a certificate authority in this folder, and a certificate for loopback addresses that it has signed. */
export async function createTlsFiles(directory: string): Promise<TlsFiles> {
  const file = (name: string): string => join(directory, name);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await writeFile(file('server.ext'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  const authority = ['-keyout', file('ca.key'), '-out', file('ca.crt'), '-subj', '/CN=Test authority'];
  const request = ['-keyout', file('server.key'), '-out', file('server.csr'), '-subj', '/CN=localhost'];
  await Promise.all([
    openssl('req', '-x509', '-days', '2', ...newKey, ...authority),
    openssl('req', ...newKey, ...request),
  ]);
  const signedBy = ['-CA', file('ca.crt'), '-CAkey', file('ca.key'), '-set_serial', '1'];
  const certificate = ['-in', file('server.csr'), '-out', file('server.crt'), '-extfile', file('server.ext')];
  await openssl('x509', '-req', '-days', '2', ...signedBy, ...certificate);
  return {
    ca: await readFile(file('ca.crt'), 'utf8'),
    settings: {
      'tls-cert-file': file('server.crt'),
      'tls-key-file': file('server.key'),
      'tls-ca-cert-file': file('ca.crt'),
      'tls-auth-clients': 'no',
    },
  };
}

/** A client certificate with that name, signed by the authority of {@link createTlsFiles} in the folder; PEM. */
export async function clientCertificate(
  directory: string,
  name: string,
): Promise<{ readonly cert: string; readonly key: string }> {
  const file = (ending: string): string => join(directory, `client-${name}.${ending}`);
  const newKey = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    file('key'),
  ];
  await openssl('req', ...newKey, '-out', file('csr'), '-subj', `/CN=${name}`);
  const authority = [
    '-CA',
    join(directory, 'ca.crt'),
    '-CAkey',
    join(directory, 'ca.key'),
    '-set_serial',
    '2',
  ];
  await openssl('x509', '-req', '-days', '2', ...authority, '-in', file('csr'), '-out', file('crt'));
  return { cert: await readFile(file('crt'), 'utf8'), key: await readFile(file('key'), 'utf8') };
}

async function openssl(...args: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)('openssl', args);
  } catch (cause) {
    throw new Error('a redis-server with TLS needs the openssl program: sudo apt-get install openssl', {
      cause,
    });
  }
}
