import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RedisScene } from '../../faults/redis-scene.js';
import { CommandLine, type CommandLineSettings } from '../../support/command-line.js';

/** Runs `script` on a plain Node, without a shell. */
export const node = (script: string, ...args: string[]): string[] => [
  '--',
  process.execPath,
  '-e',
  script,
  ...args,
];

/** Says that it runs, and goes on until somebody ends it; not for ever, should the test fail. */
export const UNTIL_ENDED =
  "console.log('pid', process.pid, '.'); setTimeout(() => process.exit(99), 120_000);";

/** Says which signals it gets; ends by itself after the last. */
export const SIGNALS = `
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGUSR1', 'SIGUSR2'])
    process.on(signal, () => { console.log(signal); if (signal === 'SIGTERM') process.exit(3); });
  console.log('ready'); setTimeout(() => process.exit(99), 120_000);`;

/** A command under a lock of the scene's server, ended with the test. */
export function lockIn(
  scene: RedisScene,
  args: readonly string[],
  settings?: CommandLineSettings,
): CommandLine {
  return scene.until(
    CommandLine.start(['lock', ...args], { env: { LOCK_REDIS_URL: scene.url }, ...settings }),
  );
}

/** A file of options with a short lease, for what goes wrong. Whoever is alive renews it also on a busy machine. */
export async function shortLease(
  scene: RedisScene,
  redis = scene.url,
  watchdogTimeout = 5_000,
): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'lock-config-'));
  scene.until({ kill: () => rm(folder, { recursive: true }) });
  const config = join(folder, 'lock.config.mjs');
  await writeFile(config, `export default { redis: '${redis}', watchdogTimeout: ${watchdogTimeout} };`);
  return ['--config', config];
}
