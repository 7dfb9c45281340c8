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

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Creates a certificate authority in this folder, and a certificate for loopback addresses that it has signed. */
export async function createTlsFiles(directory: string): Promise<TlsFiles> {
  const file = (name: string): string => join(directory, name);
  const ca = await createAuthority(directory, 'ca');
  await createServerCertificate(directory, 'ca');
  return {
    ca,
    settings: {
      'tls-cert-file': file('server.crt'),
      'tls-key-file': file('server.key'),
      'tls-ca-cert-file': file('ca.crt'),
      'tls-auth-clients': 'no',
    },
  };
}

/** A further certificate authority with that name; returns its certificate, PEM. */
export async function createAuthority(directory: string, name: string): Promise<string> {
  const file = join(directory, name);
  const subject = `/CN=Test authority ${name}`;
  const files = ['-keyout', `${file}.key`, '-out', `${file}.crt`];
  await openssl('req', '-x509', '-days', '2', ...NEW_KEY, ...files, '-subj', subject);
  return await readFile(`${file}.crt`, 'utf8');
}

/** Replaces the server's key and certificate, for loopback addresses, by new ones signed by that authority. */
export async function createServerCertificate(directory: string, authority: string): Promise<void> {
  const extensions = join(directory, 'server.ext');
  await writeFile(extensions, 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  await createCertificate(directory, 'server', { authority, subject: 'localhost', extensions });
}

/** A client certificate with that name, signed by the authority of {@link createTlsFiles} in the folder; PEM. */
export async function clientCertificate(
  directory: string,
  name: string,
  days = 2,
): Promise<{ readonly cert: string; readonly key: string }> {
  const file = `client-${name}`;
  await createCertificate(directory, file, { authority: 'ca', subject: name, days });
  const read = (ending: string): Promise<string> => readFile(join(directory, `${file}.${ending}`), 'utf8');
  return { cert: await read('crt'), key: await read('key') };
}

interface CertificateOptions {
  readonly authority: string;
  readonly subject: string;
  /** A file. */
  readonly extensions?: string;
  /** Negative: it has expired. */
  readonly days?: number;
}

async function createCertificate(
  directory: string,
  name: string,
  { authority, subject, extensions, days = 2 }: CertificateOptions,
): Promise<void> {
  const [file, signer] = [join(directory, name), join(directory, authority)];
  await openssl(
    'req',
    ...NEW_KEY,
    '-keyout',
    `${file}.key`,
    '-out',
    `${file}.csr`,
    '-subj',
    `/CN=${subject}`,
  );
  const signedBy = ['-CA', `${signer}.crt`, '-CAkey', `${signer}.key`, '-set_serial', String(++serial)];
  const certificate = ['-in', `${file}.csr`, '-out', `${file}.crt`];
  const extended = extensions === undefined ? [] : ['-extfile', extensions];
  await openssl('x509', '-req', '-days', String(days), ...signedBy, ...certificate, ...extended);
}

let serial = 0;

async function openssl(...args: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)('openssl', args);
  } catch (cause) {
    throw new Error('a server with TLS needs the openssl program: sudo apt-get install openssl', {
      cause,
    });
  }
}
