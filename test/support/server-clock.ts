import { execFile, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ClockOffset } from './clock-offset.js';

const source = fileURLToPath(new URL('./clock-shim.c', import.meta.url));
const cache = fileURLToPath(new URL('../../node_modules/.cache/clock-shim/', import.meta.url));

/**
 * Whether clocks of servers can be set on this machine. Where they can't, tests that would only be faster with such a clock
 * run in real time; tests that need one fail and say what to install. `SERVER_CLOCKS=real` is for servers that read the
 * processor's own clock, as builds of Valkey may do.
 */
export const canSetServerClocks =
  process.platform === 'linux' &&
  process.env['SERVER_CLOCKS'] !== 'real' &&
  spawnSync('cc', ['--version']).status === 0;

export interface ServerClock {
  readonly offset: ClockOffset;
  /** The environment that makes a program use the clock. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * An adjustable wall clock for a redis-server. Everything that Redis times by the wall clock follows it: expiry, but also
 * BLPOP and other blocked clients, idle clients, replication. The event loop uses the monotonic clock.
 */
export async function createServerClock(directory: string): Promise<ServerClock> {
  if (process.platform !== 'linux') {
    throw new Error('the clock of a redis-server can only be set on Linux, which has LD_PRELOAD');
  }
  const library = await compiledShim();
  const offset = new ClockOffset(directory);
  return { offset, env: { ...offset.env, LD_PRELOAD: library } };
}

/** Compiled once for all tests, since the compiler takes longer than a server to start. */
async function compiledShim(): Promise<string> {
  const content = await readFile(source);
  const version = createHash('sha256').update(content).update(process.arch).digest('hex').slice(0, 16);
  const library = join(cache, `${version}.so`);
  if (existsSync(library)) return library;
  await mkdir(cache, { recursive: true });
  // Another process may compile it at the same time, so the file is renamed into place.
  const own = join(cache, `${randomUUID()}.so`);
  try {
    await promisify(execFile)('cc', ['-O1', '-shared', '-fPIC', '-o', own, source]);
  } catch (cause) {
    throw new Error(
      'a redis-server with a clock to set needs a C compiler: sudo apt-get install gcc libc6-dev',
      { cause },
    );
  }
  await rename(own, library);
  return library;
}
