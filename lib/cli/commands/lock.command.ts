import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { basename } from 'node:path';
import { setTimeout as setTimeoutPromise } from 'node:timers/promises';
import { isatty } from 'node:tty';
import type { LockHandle, ReleaseOutcome } from '../../model/lock-handle.js';
import { LockQueueFullError, LockTimeoutError } from '../../model/lock.errors.js';
import type { LockOptions } from '../../model/lock.options.js';
import { parseDuration, type CommandArguments } from '../common/arguments.js';
import { withLocks, type Command, type CommandContext, type OpenLocks } from '../common/command.js';
import { EXIT, UsageError } from '../common/exit-codes.js';
import { holderText } from '../common/lock-views.js';
import { processesOf, processesOfOwnGroup } from '../common/process-tree.js';
import { URL_VARIABLE } from '../common/store-options.js';

const LONGEST_LABEL = 200;

/** Signals to this process that are passed on to the command. */
const FORWARDED = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGUSR1', 'SIGUSR2'] as const;

/** Signals that end the wait for the lock. The others are for the command and have no effect before it runs. */
const ENDING: ReadonlySet<NodeJS.Signals> = new Set<NodeJS.Signals>(['SIGTERM', 'SIGHUP', 'SIGINT']);

export const lock: Command = {
  summary: 'run a command under a lock',
  help: `Usage: nestjs-distributed-lock lock KEY [options] -- COMMAND [ARGUMENT…]

Acquires the lock, runs the command without a shell, and releases the lock when it has ended. The command has the
input, outputs and environment of this process, without LOCK_REDIS_URL, and with LOCK_KEY and LOCK_TOKEN, the fencing
token. TERM, HUP and INT are passed on to it and to the processes that it has started, USR1 and USR2 to the command. If
the lock is lost, all of these receive TERM, and KILL if they are still running after a while. The lock is released when
they have ended; a daemon that has left the process group of the command is not waited for.

  --wait DURATION          how long to wait for the lock: 0 tries once, "forever" has no limit (default 5s, or as
                           set in the configuration file)
  --limit N                at most N holders at once; all callers of the lock must use the same limit
  --shared                 acquire a read lock
  --hold-at-least DURATION keep the lock at least this long, even if the command ends sooner
  --label TEXT             the purpose, shown when the lock is inspected (default the name of the command)
  --kill-after DURATION    from TERM to KILL when the lock is lost (default 10s)
  --busy-exit-code N       the exit code if the lock is held, 0 to 255 (default 75)
  --pass-redis-url         keep LOCK_REDIS_URL, which may contain a password, in the environment of the command

Durations are such as 500ms, 10s, 5m or 1h.

Exit codes: that of the command; 128 and the number of the signal that ended it, or the wait for the lock; 64 usage;
69 the store is unavailable; 74 the lock was lost; 75 the lock is held; 126 the command can't be started; 127 there is
no such command.`,
  options: {
    wait: { type: 'string' },
    limit: { type: 'string' },
    shared: { type: 'boolean' },
    'hold-at-least': { type: 'string' },
    label: { type: 'string' },
    'kill-after': { type: 'string' },
    'busy-exit-code': { type: 'string' },
    'pass-redis-url': { type: 'boolean' },
  },
  takesCommand: true,

  async run(context) {
    const { key: given, command } = splitRest(context);
    const [program, ...args] = command;
    if (program === undefined || program === '') {
      throw new UsageError('Give a command to run: nestjs-distributed-lock lock KEY -- COMMAND [ARGUMENT…].');
    }
    const key = given ?? context.args.key();
    const options = lockOptions(context.args, program);
    const killAfter = parseDuration('kill-after', context.args.text('kill-after') ?? '10s');
    const busyExitCode = context.args.count('busy-exit-code', 0, 255) ?? EXIT.notObtained;
    // Installed before the lock is acquired, so that no signal leaves it behind.
    const signals = new ForwardedSignals([0, 1, 2].some((fd) => isatty(fd)));
    return await withLocks(context, (open) =>
      underLock(context, open, signals, { key, options, program, args, killAfter, busyExitCode }),
    );
  },
};

/** A key that begins with `-` follows its own `--`: `lock -- -key -- command`. */
function splitRest({ args, rest }: CommandContext): { key?: string; command: readonly string[] } {
  const [key, end, ...command] = rest;
  if (args.positionals.length > 0 || key === undefined || key === '' || end !== '--')
    return { command: rest };
  return { key, command };
}

interface Order {
  readonly key: string;
  readonly options: LockOptions;
  readonly program: string;
  readonly args: readonly string[];
  /** ms */
  readonly killAfter: number;
  readonly busyExitCode: number;
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
  order: Order,
): Promise<number> {
  const handle = await acquireOrExitCode(context, open, signals, order);
  if (typeof handle === 'number') return handle;
  let code: number;
  try {
    code = await runCommand(context, signals, order, handle);
  } finally {
    await handle.release();
  }
  return exitCode(context, order.key, handle, await handle.release(), code);
}

/** The exit code if the lock is held, or if a signal ended the wait. */
async function acquireOrExitCode(
  { output }: CommandContext,
  { locks, admin }: OpenLocks,
  signals: ForwardedSignals,
  { key, options, busyExitCode }: Order,
): Promise<LockHandle | number> {
  // Connects first: the time for that is not part of the wait, and a signal must not wait for it.
  if (!signals.ended.aborted) await Promise.race([admin.probe(), once(signals.ended, 'abort')]);
  try {
    const handle = await locks.acquire(key, { ...options, signal: signals.ended });
    if (signals.exitCode === undefined) return handle;
    await handle.release();
    return signals.exitCode;
  } catch (error) {
    if (signals.exitCode !== undefined) return signals.exitCode;
    if (!(error instanceof LockTimeoutError || error instanceof LockQueueFullError)) throw error;
    const info = await admin.inspect(key).catch(() => null);
    const now = Date.now();
    const holders = info?.holders.map((holder) => holderText(holder, now)).join('; ');
    const message = holders === undefined ? error.message : `${error.message} Held by ${holders}.`;
    output.error({ code: error.code, message, exitCode: busyExitCode });
    return busyExitCode;
  }
}

/** A lost lock overrides the command's exit code: work without the lock may have gone wrong unnoticed. */
function exitCode(
  { output }: CommandContext,
  key: string,
  handle: LockHandle,
  released: ReleaseOutcome,
  code: number,
): number {
  if (handle.signal.aborted || released === 'expired') {
    const message =
      `The lock "${key}" was lost before the command had ended, with exit code ${code}. ` +
      'Another process may have held it meanwhile.';
    output.error({ code: 'LOCK_LOST', message, exitCode: EXIT.lost });
    return EXIT.lost;
  }
  if (released === 'unknown') {
    const why = 'the store does not reply, so the lock could not be released: it expires with its lease';
    output.notice(`nestjs-distributed-lock: ${why}`);
  }
  return code;
}

/** The exit code that shells report for a process ended by a signal. */
function signalExitCode(signal: NodeJS.Signals): number {
  return EXIT.signalled + constants.signals[signal];
}

/** Receives the signals to this process, from its construction to the end of the process. */
class ForwardedSignals {
  /** The exit code that shells report for the first ending signal. */
  exitCode: number | undefined;
  /** Aborted by the first ending signal. */
  readonly ended: AbortSignal;
  /** Receives the signals for the command, while it runs. */
  receiver: ((signal: NodeJS.Signals) => void) | undefined;

  /** @param isAtTerminal whether a terminal sends INT to the command itself, so that forwarding would duplicate it */
  constructor(readonly isAtTerminal: boolean) {
    const controller = new AbortController();
    this.ended = controller.signal;
    for (const signal of FORWARDED) {
      process.on(signal, () => {
        if (ENDING.has(signal)) {
          this.exitCode ??= signalExitCode(signal);
          controller.abort(new Error(`ended by ${signal}`));
        }
        if (!(isAtTerminal && signal === 'SIGINT')) this.receiver?.(signal);
      });
    }
  }
}

/** How often to check whether processes that the command has left behind have ended, ms. */
const LOOK = 100;

/** Runs the command with this process's input and outputs. Resolves to its exit code as shells report it. */
async function runCommand(
  { args: own, env: { [URL_VARIABLE]: url, ...env }, output }: CommandContext,
  signals: ForwardedSignals,
  { key, program, args, killAfter }: Order,
  handle: LockHandle,
): Promise<number> {
  const notice = (message: string): void => output.notice(`nestjs-distributed-lock: ${message}`);
  const notStarted = ({ message, code }: NodeJS.ErrnoException): number => {
    const isMissing = code === 'ENOENT';
    notice(
      isMissing ? `there is no command ${program}` : `the command ${program} can't be started: ${message}`,
    );
    return isMissing ? EXIT.notFound : EXIT.cannotStart;
  };
  Object.assign(env, { LOCK_KEY: key, LOCK_TOKEN: String(handle.token) });
  if (own.flag('pass-redis-url')) env[URL_VARIABLE] = url;
  // In a process group of its own its orphans are found. At a terminal only the group of this process may read.
  const detached = !signals.isAtTerminal && process.platform !== 'win32';
  const earlier = detached ? undefined : processesOfOwnGroup();
  let child: ChildProcess;
  try {
    child = spawn(program, args, { stdio: 'inherit', env, detached });
  } catch (error) {
    return notStarted(error as Error);
  }
  const { pid } = child;
  const running = (): readonly number[] =>
    pid === undefined || process.platform === 'win32' ? [] : processesOf(pid, earlier);
  const signalAll = (signal: NodeJS.Signals): void => {
    if (detached && pid !== undefined) killIfRunning(-pid, signal);
    else {
      child.kill(signal);
      for (const each of running()) if (each !== pid) killIfRunning(each, signal);
    }
  };
  // Signals that end a program are for all processes of the command, as if typed at a terminal. The others end a program
  // that does not expect them.
  signals.receiver = (signal) => (ENDING.has(signal) ? signalAll(signal) : child.kill(signal));
  let timer: NodeJS.Timeout | undefined;
  /** For processes that start meanwhile. */
  let last = (): void => undefined;
  const terminate = (): void => {
    notice('the lock is lost, so the command receives SIGTERM');
    signalAll('SIGTERM');
    timer = setTimeout(() => {
      notice('the command has not ended, so it is killed (KILL)');
      last = () => signalAll('SIGKILL');
      last();
    }, killAfter);
  };
  handle.signal.addEventListener('abort', terminate);
  if (handle.signal.aborted) terminate();
  try {
    const code = await new Promise<number>((resolve) => {
      child.once('error', (error) => {
        // A running command also emits an error when it can't be signalled.
        if (child.pid === undefined) resolve(notStarted(error));
      });
      child.once('exit', (status, signal) =>
        resolve(signal === null ? (status ?? EXIT.internal) : signalExitCode(signal)),
      );
    });
    let left = running();
    if (left.length > 0)
      notice(
        `the command has ended, but processes that it started have not (${left.join(', ')}); the lock is released when they have`,
      );
    for (; left.length > 0; left = running()) {
      last();
      await setTimeoutPromise(LOOK);
    }
    return code;
  } finally {
    handle.signal.removeEventListener('abort', terminate);
    signals.receiver = undefined;
    clearTimeout(timer);
  }
}

function killIfRunning(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended, or belongs to another user.
  }
}
