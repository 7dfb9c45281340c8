import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { guardAgainstOrphans, whenReady } from '../../.scripts/servers/processes.mjs';
import { PORT_TAKEN, REDIS_READY } from '../../.scripts/servers/redis.mjs';

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
  if (child.pid !== undefined) guardAgainstOrphans(child, directory);
  const { isReady, output } = await whenReady(child, REDIS_READY);
  if (isReady) return child;
  throw PORT_TAKEN.test(output) ? new PortTaken(output) : new Error(`redis-server did not start:\n${output}`);
}
