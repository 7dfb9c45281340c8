import { setTimeout as elapse } from 'node:timers/promises';
import { LockAdmin } from '../../api/lock-admin.js';
import { LockService } from '../../api/lock.service.js';
import { LockEngine } from '../../engine/lock-engine.js';
import type { LockInfo } from '../../model/lock-info.js';
import {
  resolveModuleOptions,
  type DistributedLockOptions,
} from '../../nest/module/distributed-lock.options.js';
import type { CommandArguments, OptionSpecs } from './arguments.js';
import type { Output } from './output.js';

/** The context of a command. */
export interface CommandContext {
  readonly args: CommandArguments;
  /** The arguments after `--`, for a command that runs another one. */
  readonly rest: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly output: Output;
  /** The options of the store that the user has chosen. */
  readonly storeOptions: () => Promise<DistributedLockOptions>;
}

export interface Command {
  /** For the list of commands. */
  readonly summary: string;
  /** Usage, options and exit codes. */
  readonly help: string;
  readonly options: OptionSpecs;
  /** Whether `--` ends its own arguments and starts the command that it runs. */
  readonly takesCommand?: boolean;
  /** Returns the exit code. */
  run(context: CommandContext): Promise<number>;
}

/** A client of the store, like that of an application. */
export interface OpenLocks {
  readonly locks: LockService;
  readonly admin: LockAdmin;
  /** The store and where it is. */
  readonly where: string;
  /** The warnings that an application would log about the store. */
  readonly warnings: readonly string[];
  close(): Promise<void>;
}

/**
 * Connects with the first request.
 *
 * @throws LockOptionsError for invalid options
 */
export function openLocks(options: DistributedLockOptions): OpenLocks {
  const settings = resolveModuleOptions(options);
  const warnings: string[] = [];
  const log = { log: () => undefined, warn: (message: string) => void warnings.push(message) };
  const engine = new LockEngine(settings.store, settings, log);
  const locks = new LockService(engine, settings.waitTime, settings);
  const { name, place } = settings.store;
  const where = place === undefined ? name : `${name}, ${place}`;
  return { locks, admin: new LockAdmin(engine), where, warnings, close: () => engine.close() };
}

/** Calls `work` with a client of the store, and closes the client afterwards. */
export async function withLocks<T>(
  context: CommandContext,
  work: (open: OpenLocks) => Promise<T>,
): Promise<T> {
  const open = openLocks(await context.storeOptions());
  try {
    return await work(open);
  } finally {
    await open.close();
  }
}

/** How many entries the store scans per request: few, since the server is blocked meanwhile. */
const SCAN_COUNT = 200;
/** The pause between two requests, ms, for other work of the server. */
const SCAN_PAUSE = 2;

/** All held locks whose keys match, each once. */
export async function* heldLocks(admin: LockAdmin, match: string): AsyncGenerator<LockInfo> {
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    if (cursor !== undefined) await elapse(SCAN_PAUSE);
    const page = await admin.list({ match, cursor, count: SCAN_COUNT });
    for (const lock of page.locks) {
      if (seen.has(lock.key)) continue;
      seen.add(lock.key);
      yield lock;
    }
    ({ cursor } = page);
  } while (cursor !== undefined);
}
