import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LockError } from '../model/lock.errors.js';
import { CommandArguments } from './common/arguments.js';
import type { Command } from './common/command.js';
import { breakLock } from './commands/break.command.js';
import { doctor } from './commands/doctor.command.js';
import { list } from './commands/list.command.js';
import { lock } from './commands/lock.command.js';
import { show } from './commands/show.command.js';
import { watch } from './commands/watch.command.js';
import { EXIT, exitCodeOf, UsageError } from './common/exit-codes.js';
import { Output, type OutputStream } from './common/output.js';
import { storeOptionsOf, type LoadModule } from './common/store-options.js';

/** The process in which the program runs. */
export interface ProgramSetting {
  /** Without the executable. */
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

/** The end of every help text. */
const COMMON_HELP = `Where the locks are:
  --redis URL          a Redis server, redis://[user:password@]host[:port][/database] or rediss:// for TLS;
                       several times: a quorum of independent servers
  --cluster            the URLs are nodes of a Redis Cluster
  --sentinel NAME      the URLs are sentinels that know the primary by this name
  --key-prefix PREFIX  the prefix of the names of locks in Redis (default lock:)
  --config FILE        a module whose default export is the options of DistributedLockModule.forRoot, for all stores
  LOCK_REDIS_URL       in the environment: the URL, or several with blanks between them, without --redis

  --json               results as JSON on the output, errors as JSON on the error output
  -h, --help           this text`;

/** Runs a command line. Resolves to the exit code when all output is written. Never rejects. */
export async function run(setting: ProgramSetting): Promise<number> {
  const [name = '', ...given] = setting.argv;
  const command = COMMANDS.get(name);
  // `--` ends the arguments of a command that runs another one.
  const end = command?.takesCommand === true ? given.indexOf('--') : -1;
  const [own, rest] = end === -1 ? [given, []] : [given.slice(0, end), given.slice(end + 1)];
  const output = new Output(setting.stdout, setting.stderr, own.includes('--json'));
  let code: number;
  try {
    code =
      command === undefined
        ? withoutCommand(name, output)
        : await runCommand(command, CommandArguments.parse(own, command.options), rest, setting, output);
  } catch (error) {
    code = exitCodeOf(error);
    output.error({ ...described(error), exitCode: code });
  }
  await output.flushed();
  if (output.failure === undefined) return code;
  const message = `could not write: ${output.failure.message}`;
  output.error({ code: 'OUTPUT', message, exitCode: EXIT.internal });
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
  const storeOptions = () => storeOptionsOf(args, env, load);
  return await command.run({ args, rest, env, output, storeOptions });
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
  // Anything else is not quoted: it may be a misplaced URL with a password.
  const what = /^[\w-]+$/.test(name) ? `There is no command ${name}` : 'The first argument must be a command';
  throw new UsageError(`${what}. Commands are ${[...COMMANDS.keys()].join(', ')}; see --help.`);
}

function overview(): string {
  const lines = [...COMMANDS].map(([name, { summary }]) => `  ${name.padEnd(8)} ${summary}`);
  return [
    'Usage: nestjs-distributed-lock COMMAND [options]',
    '',
    'Inspects, breaks and acquires locks from outside of the applications that use them.',
    '',
    ...lines,
    '',
    'nestjs-distributed-lock COMMAND --help lists the options and exit codes of each; --version prints the version.',
    '',
    COMMON_HELP,
  ].join('\n');
}

/** Reads the package.json of the package, from `dist/cjs/core`. The core runs as CommonJS. */
function packageVersion(): string {
  const manifest = readFileSync(join(__dirname, '../../../package.json'), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

function described(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof LockError) {
    return { code: error.code, message: error.message.replace(/^DistributedLockModule: /, '') };
  }
  if (error instanceof UsageError) return { code: error.code, message: error.message };
  // A bug: the stack helps to find it.
  return {
    code: 'INTERNAL',
    message: error instanceof Error ? (error.stack ?? error.message) : String(error),
  };
}
