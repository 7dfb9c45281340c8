import type { ParseArgsConfig } from 'node:util';
import type { DistributedLockOptions } from '../nest/module/distributed-lock.options.js';
import type { CommandArguments } from './command-arguments.js';
import type { Output } from './output/output.js';
import { openLocks, type OpenLocks } from './place/open-locks.js';

/** What a command works with. */
export interface CommandContext {
  readonly args: CommandArguments;
  /** What follows `--`, where the command takes another one. */
  readonly rest: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly output: Output;
  /** Where the locks are, as the user has said. */
  readonly place: () => Promise<DistributedLockOptions>;
}

export interface Command {
  /** For the list of commands. */
  readonly summary: string;
  /** How it is called, and what its options do. */
  readonly help: string;
  readonly options: NonNullable<ParseArgsConfig['options']>;
  /** Whether `--` ends its own arguments and begins the command that it runs. */
  readonly takesCommand?: boolean;
  /** Answers the exit code. */
  run(context: CommandContext): Promise<number>;
}

/** Has some work done with a client of the store, which is then closed. */
export async function withLocks<T>(
  context: CommandContext,
  work: (open: OpenLocks) => Promise<T>,
): Promise<T> {
  const open = openLocks(await context.place());
  try {
    return await work(open);
  } finally {
    await open.close();
  }
}
