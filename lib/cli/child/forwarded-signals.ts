import { constants } from 'node:os';
import { EXIT } from '../exit-codes.js';

/** What is sent to this process, and meant for the command that it runs. */
const FORWARDED = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGUSR1', 'SIGUSR2'] as const;

/** Those that end a wait. The others are meant for a command that is not there yet. */
const ENDING: ReadonlySet<NodeJS.Signals> = new Set<NodeJS.Signals>(['SIGTERM', 'SIGHUP', 'SIGINT']);

/** What shells answer for a process that a signal has ended. */
export function signalExitCode(signal: NodeJS.Signals): number {
  return EXIT.signalled + constants.signals[signal];
}

/** Signals to this process, from the making of the object to the end of the process. */
export class ForwardedSignals {
  /** The first that was to end this process. */
  first: NodeJS.Signals | undefined;
  private readonly controller = new AbortController();
  private receiver: ((signal: NodeJS.Signals) => void) | undefined;

  /** @param isAtTerminal whether a terminal sends INT to all processes that it runs, so that it must not come twice */
  constructor({ isAtTerminal }: { readonly isAtTerminal: boolean }) {
    for (const signal of FORWARDED) {
      process.on(signal, () => {
        if (ENDING.has(signal)) this.end(signal);
        if (!(isAtTerminal && signal === 'SIGINT')) this.receiver?.(signal);
      });
    }
  }

  /** Aborted by the first that was to end this process. */
  get ended(): AbortSignal {
    return this.controller.signal;
  }

  /** Resolves then, too. */
  get interrupted(): Promise<void> {
    const { ended } = this;
    if (ended.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      ended.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  /** Who gets them from now on. */
  forwardTo(receiver: ((signal: NodeJS.Signals) => void) | undefined): void {
    this.receiver = receiver;
  }

  private end(signal: NodeJS.Signals): void {
    this.first ??= signal;
    this.controller.abort(new Error(`ended by ${signal}`));
  }
}
