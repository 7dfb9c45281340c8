import { spawn, type ChildProcess } from 'node:child_process';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NOBODY, postgresUrl } from '../../.scripts/servers/postgres.mjs';
import { freePort } from './free-port.js';
import { guardAgainstOrphans } from './orphan-guard.js';
import { endProcess, untilReady } from './server-process.js';

/** The path of PgBouncer; `npm run test:stores` sets it where it can be installed. */
export const pgBouncerProgram = process.env['PGBOUNCER'];
const libraries = process.env['PGBOUNCER_LIBRARIES'];

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
    await untilReady('PgBouncer', child, /process up/);
    return new PgBouncer(port, child, directory);
  }

  get url(): string {
    return postgresUrl(this.port);
  }

  async close(): Promise<void> {
    await endProcess(this.child);
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
