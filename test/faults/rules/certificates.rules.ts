import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DistributedLockOptions } from '../../../lib/index.js';
import type { Endings } from '../../support/endings.js';
import { LockApp } from '../../support/lock-app.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import {
  clientCertificate,
  createAuthority,
  createServerCertificate,
  createTlsFiles,
} from '../../support/tls-files.js';
import { next, until } from '../../support/until.js';

/** TLS options that read their files whenever a connection is opened. */
export interface ClientTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** A server that requires client certificates. */
export interface SecureServer {
  readonly port: number;
  /** New connections get the certificate that is in the folder. */
  reload(): Promise<unknown>;
  close(): Promise<unknown>;
}

export interface CertificateScene {
  readonly endings: Endings;
  /** Starts it with `server.crt` and `server.key`; clients need a certificate of `ca.crt`. */
  start(directory: string): Promise<SecureServer>;
  options(port: number, tls: ClientTls): DistributedLockOptions;
  /** The reason when the client certificate has expired. */
  readonly expired: RegExp;
  /** Whether it connects by the former files while the present ones can't be used, instead of failing. */
  readonly keepsFormer: boolean;
}

/** Certificates that are replaced while the application runs. Every step cuts all connections. */
export function certificateRules({ endings, start, options, expired, keepsFormer }: CertificateScene): void {
  it('F63: holds survive replaced certificates, and locks can be acquired', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'lock-tls-'));
    endings.until({ close: () => rm(directory, { recursive: true, force: true }) });
    const file = (name: string): string => join(directory, name);
    const { ca } = await createTlsFiles(directory);
    const server = endings.until(await start(directory));
    const proxy = endings.until(await TcpProxy.before(server.port));

    const write = async ({ cert, key }: { cert: string; key: string }): Promise<void> => {
      await Promise.all([writeFile(file('tls.crt'), cert), writeFile(file('tls.key'), key)]);
    };
    const first = await clientCertificate(directory, 'first');
    await Promise.all([write(first), writeFile(file('trusted.crt'), ca)]);
    const tls: ClientTls = {
      get ca() {
        return readFileSync(file('trusted.crt'), 'utf8');
      },
      get cert() {
        return readFileSync(file('tls.crt'), 'utf8');
      },
      get key() {
        return readFileSync(file('tls.key'), 'utf8');
      },
    };
    const app = endings.app(
      await LockApp.start({ ...options(proxy.port, tls), watchdogTimeout: 12_000, shutdownTimeout: 50 }),
    );
    const handle = await app.locks.acquire('held', { waitTime: 20_000 });
    const works = async (change: () => Promise<unknown>): Promise<void> => {
      await change();
      const renewed = next(app.locks.events, ({ type }) => type === 'renewed', 20_000);
      proxy.cut();
      await app.locks.withLock('other', { waitTime: 20_000 }, () => undefined);
      await renewed;
    };
    /** Requests fail by that reason. */
    const fails = async (reason: RegExp, change: () => Promise<unknown>): Promise<void> => {
      await change();
      proxy.cut();
      await until('it is the reason', async () => {
        const failure: unknown = await app.locks.isLocked('held').catch((error: unknown) => error);
        return failure instanceof Error && reason.test(failure.message);
      });
    };
    const unusable = keepsFormer
      ? (_: RegExp, change: () => Promise<unknown>): Promise<void> => works(change)
      : fails;

    await works(async () => {
      await createServerCertificate(directory, 'ca');
      await server.reload();
    });
    await works(async () => {
      await writeFile(file('trusted.crt'), ca + (await createAuthority(directory, 'ca2')));
      await createServerCertificate(directory, 'ca2');
      await server.reload();
    });
    await fails(expired, async () => {
      await write(await clientCertificate(directory, 'expired', -1));
    });
    await works(async () => {
      await write(await clientCertificate(directory, 'second'));
    });
    const third = await clientCertificate(directory, 'third');
    await unusable(/key values mismatch/, () => writeFile(file('tls.key'), third.key));
    await works(() => writeFile(file('tls.crt'), third.cert));
    for (const name of ['tls.crt', 'tls.key', 'trusted.crt']) {
      await unusable(new RegExp(`ENOENT.*${name}`), () => rename(file(name), file('elsewhere')));
      await works(() => rename(file('elsewhere'), file(name)));
    }

    expect(await handle.release()).toBe('released');
    expect(app.events('lost')).toEqual([]);
  });
}
