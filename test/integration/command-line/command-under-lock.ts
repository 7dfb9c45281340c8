import type { RedisScene } from '../../faults/redis-scene.js';
import { CommandLine, type CommandLineSettings } from '../../support/command-line.js';

/** Arguments that run `script` with Node, without a shell. */
export const node = (script: string, ...args: string[]): string[] => [
  '--',
  process.execPath,
  '-e',
  script,
  ...args,
];

/** Prints its process id, and runs until it is killed, or for two minutes if the test fails. */
export const UNTIL_ENDED =
  "console.log('pid', process.pid, '.'); setTimeout(() => process.exit(99), 120_000);";

/** Prints the signals that it receives, and exits after TERM. */
export const SIGNALS = `
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGUSR1', 'SIGUSR2'])
    process.on(signal, () => { console.log(signal); if (signal === 'SIGTERM') process.exit(3); });
  console.log('ready'); setTimeout(() => process.exit(99), 120_000);`;

/**
 * Arguments that run a shell, whose child prints its process id and what it receives. The shell itself ends at once after TERM,
 * whatever its child does.
 *
 * @param afterTerm what the child does then
 */
export const shell = (afterTerm: string): string[] => {
  const child = `
    process.on('SIGTERM', () => { console.log('child heard TERM'); ${afterTerm} });
    console.log('child pid', process.pid, '.'); setTimeout(() => process.exit(99), 120_000);`;
  return ['--', 'sh', '-c', `"$0" -e "$1" && echo next`, process.execPath, child];
};

/** Runs a command under a lock of the scene's server; it ends with the test. */
export function lockIn(
  scene: RedisScene,
  args: readonly string[],
  settings?: CommandLineSettings,
): CommandLine {
  return scene.until(
    CommandLine.start(['lock', ...args], { env: { LOCK_REDIS_URL: scene.url }, ...settings }),
  );
}
