import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { guardAgainstOrphans } from './orphan-guard.js';

/** The path of PgBouncer; `npm run test:stores` sets it where it can be installed. */
export const pgBouncerProgram = process.env['PGBOUNCER'];
const libraries = process.env['PGBOUNCER_LIBRARIES'];

/** PgBouncer does not run as root. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** A PgBouncer with few connections and transaction pooling. */
export class PgBouncer {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly directory: string,
  ) {}

  /** @param target the port of PostgreSQL */
  static async before(target: number): Promise<PgBouncer> {
    if (pgBouncerProgram === undefined) throw new Error('run it with `npm run test:stores`');
    const directory = await mkdtemp(join(tmpdir(), 'lock-pgbouncer-'));
    const port = await freePort();
    const [settings, users] = [join(directory, 'pgbouncer.ini'), join(directory, 'users.txt')];
    await writeFile(users, '"postgres" ""\n');
    await writeFile(settings, settingsFor(port, target, users));
    if (NOBODY.uid !== undefined) {
      for (const path of [directory, settings, users]) await chown(path, NOBODY.uid, NOBODY.gid);
    }
    const child = spawn(pgBouncerProgram, [settings], {
      ...NOBODY,
      cwd: directory,
      env: { ...process.env, ...(libraries !== undefined && { LD_LIBRARY_PATH: libraries }) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    guardAgainstOrphans(child, directory);
    await new Promise<void>((resolve, reject) => {
      let output = '';
      child.stderr.on('data', (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-10_000);
        if (output.includes('process up')) resolve();
      });
      child.once('error', reject);
      child.once('exit', () => {
        reject(new Error(`PgBouncer exited immediately:\n${output}`));
      });
    });
    return new PgBouncer(port, child, directory);
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${String(this.port)}/postgres`;
  }

  async close(): Promise<void> {
    const exited = once(this.child, 'exit');
    if (this.child.kill('SIGKILL')) await exited;
    await rm(this.directory, { recursive: true, force: true });
  }
}

function settingsFor(port: number, target: number, users: string): string {
  return `[databases]
postgres = host=127.0.0.1 port=${String(target)} dbname=postgres user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${String(port)}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = 3
max_client_conn = 100
`;
}
