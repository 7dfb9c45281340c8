import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { guardAgainstOrphans } from './orphan-guard.js';

/** Another process uses one of the ports; retry with other ports, or later. */
export class PortTaken extends Error {}

export interface RedisLaunch {
  /** The command line. */
  readonly args: readonly string[];
  /** Removed if this process dies without cleaning up. */
  readonly directory: string;
  /** Added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
}

/** A sentinel logs its id last, other servers that they are ready. */
const READY = /Ready to accept connections|Sentinel ID is/;

const program = (): string => process.env['REDIS_SERVER'] ?? 'redis-server';

let major: number | undefined;

/** The major version of Redis that the server is, or is compatible with. */
export function redisMajor(): number {
  major ??= Number(/v=(\d+)/.exec(execFileSync(program(), ['--version'], { encoding: 'utf8' }))?.[1]);
  return major;
}

/** A redis-server process that listens on its ports. */
export async function launchRedis({ args, directory, env }: RedisLaunch): Promise<ChildProcess> {
  const child = spawn(program(), args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  await new Promise<void>((resolve, reject) => {
    let output = '';
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      if (READY.test(output)) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', (cause) => {
      reject(new Error('redis-server could not be started: is it installed?', { cause }));
    });
    child.once('close', () => {
      const taken = /bind|Address already in use|listening socket/i.test(output);
      reject(taken ? new PortTaken(output) : new Error(`redis-server exited immediately:\n${output}`));
    });
    if (child.pid !== undefined) guardAgainstOrphans(child, directory);
  });
  return child;
}
