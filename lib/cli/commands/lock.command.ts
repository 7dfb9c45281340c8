import { basename } from 'node:path';
import { isatty } from 'node:tty';
import { runChild } from '../child/run-child.js';
import { ForwardedSignals, signalExitCode } from '../child/forwarded-signals.js';
import type { CommandArguments } from '../command-arguments.js';
import { withLocks, type Command, type CommandContext } from '../command.js';
import { EXIT } from '../exit-codes.js';
import { parseDuration } from '../output/durations.js';
import { holderText } from '../output/lock-views.js';
import { LockTimeoutError } from '../../model/lock.errors.js';
import type { LockHandle } from '../../model/lock-handle.js';
import type { LockOptions } from '../../model/lock.options.js';
import { URL_VARIABLE } from '../place/lock-place.js';
import type { OpenLocks } from '../place/open-locks.js';
import { UsageError } from '../usage-error.js';

const LONGEST_LABEL = 200;

export const lock: Command = {
  summary: 'run a command under a lock',
  help: `Usage: nestjs-distributed-lock lock KEY [options] -- COMMAND [ARGUMENT…]

Takes the lock, runs the command without a shell, and gives the lock back when it has ended. The command has the
input, outputs and environment of this process, without LOCK_REDIS_URL, and with LOCK_KEY and LOCK_TOKEN, the fencing
token. TERM, HUP, INT, USR1 and USR2 are passed on to it. If the lock is lost, it gets TERM, and KILL if it is still
there after a while.

  --wait DURATION          how long to wait for the lock: 0 tries once, "forever" has no limit (default 5s, or what
                           the file of options says)
  --limit N                at most N hold the lock at once; all who take it have to say the same
  --shared                 as one of any number of readers
  --hold-at-least DURATION the lock stays taken for so long, also when the command ends sooner
  --label TEXT             what for, for whoever looks at the lock (default the name of the command)
  --kill-after DURATION    from TERM to KILL when the lock is lost (default 10s)
  --pass-redis-url         leave LOCK_REDIS_URL, which may have a password, in the environment of the command

Durations are such as 500ms, 10s, 5m or 1h.

Exit codes: that of the command; 128 and the number of the signal that ended it, or the wait for the lock; 64 usage;
69 the store can't be asked; 74 the lock was lost; 75 others hold it; 126 the command can't be started; 127 there is
no such command.`,
  options: {
    wait: { type: 'string' },
    limit: { type: 'string' },
    shared: { type: 'boolean' },
    'hold-at-least': { type: 'string' },
    label: { type: 'string' },
    'kill-after': { type: 'string' },
    'pass-redis-url': { type: 'boolean' },
  },
  takesCommand: true,

  async run(context) {
    const { key: given, command } = parted(context);
    const [program, ...args] = command;
    if (program === undefined || program === '') {
      throw new UsageError('Say what to run: nestjs-distributed-lock lock KEY -- COMMAND [ARGUMENT…].');
    }
    const key = given ?? context.args.key();
    const options = lockOptions(context.args, program);
    const killAfter = parseDuration('kill-after', context.args.text('kill-after') ?? '10s');
    // Before the lock is there, so that none of them leaves it behind. A terminal sends INT to the command, too.
    const signals = new ForwardedSignals({ isAtTerminal: [0, 1, 2].some((fd) => isatty(fd)) });
    return await withLocks(context, (open) =>
      underLock(context, open, signals, { key, options, program, args, killAfter }),
    );
  },
};

/** A key that begins with `-` follows a `--` of its own: `lock -- -key -- command`. */
function parted({ args, rest }: CommandContext): { key?: string; command: readonly string[] } {
  const [key, end, ...command] = rest;
  if (args.positionals.length > 0 || key === undefined || key === '' || end !== '--')
    return { command: rest };
  return { key, command };
}

interface Wish {
  readonly key: string;
  readonly options: LockOptions;
  readonly program: string;
  readonly args: readonly string[];
  /** ms */
  readonly killAfter: number;
}

function lockOptions(args: CommandArguments, program: string): LockOptions {
  const wait = args.text('wait');
  const holdAtLeast = args.text('hold-at-least');
  const limit = args.count('limit');
  if (limit !== undefined && args.flag('shared')) {
    throw new UsageError('--limit and --shared exclude each other.');
  }
  return {
    label: args.text('label') ?? basename(program).slice(0, LONGEST_LABEL),
    ...(wait !== undefined && { waitTime: wait === 'forever' ? Infinity : parseDuration('wait', wait) }),
    ...(holdAtLeast !== undefined && { holdAtLeast: parseDuration('hold-at-least', holdAtLeast) }),
    ...(limit !== undefined ? { limit } : args.flag('shared') ? { mode: 'shared' as const } : {}),
  };
}

async function underLock(
  context: CommandContext,
  open: OpenLocks,
  signals: ForwardedSignals,
  wish: Wish,
): Promise<number> {
  const held = await taken(context, open, signals, wish);
  if (typeof held === 'number') return held;
  let code: number;
  try {
    code = await runChild({
      program: wish.program,
      args: wish.args,
      env: { ...inherited(context), LOCK_KEY: wish.key, LOCK_TOKEN: String(held.token) },
      signals,
      stop: held.signal,
      killAfter: wish.killAfter,
      notice: (message) => {
        context.output.notice(`nestjs-distributed-lock: ${message}`);
      },
    });
  } finally {
    await held.release();
  }
  return await outcome(context, wish.key, held, code);
}

function inherited({ args, env }: CommandContext): NodeJS.ProcessEnv {
  if (args.flag('pass-redis-url')) return env;
  const { [URL_VARIABLE]: _url, ...others } = env;
  return others;
}

/** The hold, or the exit code where there is none. */
async function taken(
  { output }: CommandContext,
  { locks }: OpenLocks,
  signals: ForwardedSignals,
  { key, options }: Wish,
): Promise<LockHandle | number> {
  // To connect is no part of the wait, and nothing to keep a signal waiting.
  await Promise.race([locks.probe(), signals.interrupted]);
  try {
    const handle = await locks.acquire(key, { ...options, signal: signals.ended });
    if (signals.first === undefined) return handle;
    await handle.release();
    return signalExitCode(signals.first);
  } catch (error) {
    if (signals.first !== undefined) return signalExitCode(signals.first);
    if (!(error instanceof LockTimeoutError)) throw error;
    const info = await locks.inspect(key).catch(() => null);
    const now = Date.now();
    const holders = info?.holders.map((holder) => holderText(holder, now)).join('; ');
    const message = holders === undefined ? error.message : `${error.message} Held by ${holders}.`;
    output.error({ code: error.code, message, exitCode: EXIT.notObtained });
    return EXIT.notObtained;
  }
}

/** What became of the lock has the last word: work without it may have gone wrong, whatever its exit code. */
async function outcome(
  { output }: CommandContext,
  key: string,
  handle: LockHandle,
  code: number,
): Promise<number> {
  const released = await handle.release();
  if (handle.signal.aborted || released === 'expired') {
    const message =
      `The lock "${key}" was lost before the command had ended, with exit code ${code}. ` +
      'Others may have held it meanwhile.';
    output.error({ code: 'LOCK_LOST', message, exitCode: EXIT.lost });
    return EXIT.lost;
  }
  if (released === 'unknown') {
    const why = 'the store does not answer, so that the lock could not be given back: it ends with its lease';
    output.notice(`nestjs-distributed-lock: ${why}`);
  }
  return code;
}
