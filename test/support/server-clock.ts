import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ClockOffset } from './clock-offset.js';

const source = fileURLToPath(new URL('./clock-shim.c', import.meta.url));

/**
 * Whether clocks of servers can be set on this machine. Where they can't, what would only be quicker and steadier with
 * such a clock runs in real time; what needs one fails and says what to install.
 */
export const canSetServerClocks = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;

export interface ServerClock {
  readonly offset: ClockOffset;
  /** Gives a program that is started with it the clock. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * A wall clock for a redis-server that can be made to jump. What Redis times by the wall clock jumps with it: expiry,
 * but also BLPOP and other blocked clients, idle clients, replication. Its event loop goes by the monotonic clock.
 */
export async function createServerClock(directory: string): Promise<ServerClock> {
  if (process.platform !== 'linux') {
    throw new Error('the clock of a redis-server can only be set on Linux, which has LD_PRELOAD');
  }
  const library = join(directory, 'clock-shim.so');
  try {
    await promisify(execFile)('cc', ['-O1', '-shared', '-fPIC', '-o', library, source]);
  } catch (cause) {
    throw new Error(
      'a redis-server with a clock to set needs a C compiler: sudo apt-get install gcc libc6-dev',
      { cause },
    );
  }
  const offset = new ClockOffset(directory);
  return { offset, env: { ...offset.env, LD_PRELOAD: library } };
}
