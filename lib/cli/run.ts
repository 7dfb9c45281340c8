import { LockError } from '../model/lock.errors.js';
import { CommandArguments } from './command-arguments.js';
import type { Command } from './command.js';
import { breakLock } from './commands/break.command.js';
import { doctor } from './commands/doctor.command.js';
import { list } from './commands/list.command.js';
import { lock } from './commands/lock.command.js';
import { show } from './commands/show.command.js';
import { watch } from './commands/watch.command.js';
import { EXIT, exitCodeOf } from './exit-codes.js';
import { COMMON_HELP } from './help.js';
import { Output, type OutputStream } from './output/output.js';
import type { LoadModule } from './place/config-file.js';
import { lockPlace } from './place/lock-place.js';
import { UsageError } from './usage-error.js';
import { packageVersion } from './version.js';

/** What the program has of its process. */
export interface ProgramSetting {
  /** Without the program itself. */
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly load: LoadModule;
}

const COMMANDS: ReadonlyMap<string, Command> = new Map([
  ['list', list],
  ['show', show],
  ['watch', watch],
  ['break', breakLock],
  ['doctor', doctor],
  ['lock', lock],
]);

/** Runs the command line; resolves to the exit code when everything is written. Never rejects. */
export async function run(setting: ProgramSetting): Promise<number> {
  const [name = '', ...given] = setting.argv;
  const command = COMMANDS.get(name);
  const { own, rest } = parted(given, command?.takesCommand === true);
  const output = new Output(setting.stdout, setting.stderr, own.includes('--json'));
  let code: number;
  try {
    code =
      command === undefined
        ? withoutCommand(name, output)
        : await runCommand(command, CommandArguments.parse(own, command.options), rest, setting, output);
  } catch (error) {
    code = exitCodeOf(error);
    output.error({ code: codeOf(error), message: messageOf(error), exitCode: code });
  }
  await output.flushed();
  if (output.failure === undefined) return code;
  output.error({
    code: 'OUTPUT',
    message: `could not write: ${output.failure.message}`,
    exitCode: EXIT.internal,
  });
  return EXIT.internal;
}

async function runCommand(
  command: Command,
  args: CommandArguments,
  rest: readonly string[],
  { env, load }: ProgramSetting,
  output: Output,
): Promise<number> {
  if (args.flag('help')) {
    output.lines(`${command.help}\n\n${COMMON_HELP}`);
    return EXIT.ok;
  }
  return await command.run({ args, rest, env, output, place: () => lockPlace(args, env, load) });
}

function withoutCommand(name: string, output: Output): number {
  if (name === '--version' || name === '-v') {
    output.lines(packageVersion());
    return EXIT.ok;
  }
  if (name === '--help' || name === '-h' || name === 'help') {
    output.lines(overview());
    return EXIT.ok;
  }
  // A URL in the wrong place is not shown.
  const what = /^[\w-]+$/.test(name)
    ? `There is no command ${name}`
    : 'The first argument has to be a command';
  throw new UsageError(`${what}. Commands are ${[...COMMANDS.keys()].join(', ')}; --help tells more.`);
}

function overview(): string {
  const lines = [...COMMANDS].map(([name, { summary }]) => `  ${name.padEnd(8)} ${summary}`);
  return [
    'Usage: nestjs-distributed-lock COMMAND [options]',
    '',
    'Looks after locks from outside of the processes that use them.',
    '',
    ...lines,
    '',
    'nestjs-distributed-lock COMMAND --help tells the options and exit codes of each; --version the version.',
    '',
    COMMON_HELP,
  ].join('\n');
}

/** The arguments of a command, and those of the one that it is to run, which follow `--`. */
function parted(
  args: readonly string[],
  takesCommand: boolean,
): { own: readonly string[]; rest: readonly string[] } {
  const end = takesCommand ? args.indexOf('--') : -1;
  return end === -1 ? { own: args, rest: [] } : { own: args.slice(0, end), rest: args.slice(end + 1) };
}

function codeOf(error: unknown): string {
  return error instanceof LockError || error instanceof UsageError ? error.code : 'INTERNAL';
}

function messageOf(error: unknown): string {
  if (error instanceof LockError) return error.message.replace(/^DistributedLockModule: /, '');
  if (error instanceof UsageError) return error.message;
  // A fault of ours, for whoever is to find it.
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
