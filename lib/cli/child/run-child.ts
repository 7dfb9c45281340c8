import { spawn, type ChildProcess } from 'node:child_process';
import { EXIT } from '../exit-codes.js';
import { signalExitCode, type ForwardedSignals } from './forwarded-signals.js';

/** A command that is to run, and what can happen to it. */
export interface ChildOrder {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly signals: ForwardedSignals;
  /** Aborted when it is to be stopped: the lock is lost. */
  readonly stop: AbortSignal;
  /** ms that it has from TERM to KILL then. */
  readonly killAfter: number;
  readonly notice: (message: string) => void;
}

/** Runs a command with the input and outputs of this process; resolves to its exit code as shells have it. */
export async function runChild(order: ChildOrder): Promise<number> {
  const { program, args, env, signals, stop } = order;
  let child: ChildProcess;
  try {
    child = spawn(program, args, { stdio: 'inherit', env });
  } catch (error) {
    return notStarted(order, error as Error);
  }
  signals.forwardTo((signal) => child.kill(signal));
  const ending = new Ending(child, order);
  const end = (): void => {
    ending.begin();
  };
  stop.addEventListener('abort', end);
  if (stop.aborted) end();
  try {
    return await new Promise<number>((resolve) => {
      child.once('error', (error) => {
        // Not of a command that runs, and could not be sent a signal.
        if (child.pid === undefined) resolve(notStarted(order, error));
      });
      child.once('exit', (code, signal) => {
        resolve(signal === null ? (code ?? EXIT.internal) : signalExitCode(signal));
      });
    });
  } finally {
    stop.removeEventListener('abort', end);
    signals.forwardTo(undefined);
    ending.over();
  }
}

function notStarted({ program, notice }: ChildOrder, { message, code }: NodeJS.ErrnoException): number {
  const isMissing = code === 'ENOENT';
  notice(
    isMissing ? `there is no command ${program}` : `the command ${program} can't be started: ${message}`,
  );
  return isMissing ? EXIT.notFound : EXIT.cannotStart;
}

/** The end of a command whose lock is lost. */
class Ending {
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly child: ChildProcess,
    private readonly order: ChildOrder,
  ) {}

  begin(): void {
    const { child, order } = this;
    order.notice('the lock is lost, so the command is told to end (TERM)');
    child.kill('SIGTERM');
    this.timer = setTimeout(() => {
      order.notice('the command has not ended, so it is killed (KILL)');
      child.kill('SIGKILL');
    }, order.killAfter);
  }

  over(): void {
    clearTimeout(this.timer);
  }
}
