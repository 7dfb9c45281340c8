import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ClockOffset } from './clock-offset.js';
import { guardAgainstOrphans } from './orphan-guard.js';
import { endProcess } from './server-process.js';
import { within } from './until.js';

const built = fileURLToPath(new URL('../../dist/esm/index.js', import.meta.url));

/** The state of a handle in the worker. */
export interface SeenHold {
  readonly isHeld: boolean;
  readonly remaining: number;
  readonly aborted: boolean;
  readonly token: number;
  /** `held`, or the code of the error from `assertHeld()`. */
  readonly asserted: string;
  /** How long the process had been stopped, ms. */
  readonly paused?: number;
}

export interface LoopReport {
  readonly rounds: number;
  readonly overlaps: number;
  readonly tokens: readonly number[];
  readonly errors: readonly string[];
}

/** One hold as its holder observed it; times in ms on the monotonic clock of the machine. */
export interface Hold {
  readonly key: string;
  readonly token: number;
  /** When the call for the lock returned. */
  readonly from: number;
  /** When `isHeld` was last observed to be true; checked every 10 ms and at the end of the work. */
  readonly to: number;
  /** Whether the holder was notified of a loss before its work ended. */
  readonly isLost: boolean;
  readonly outcome: 'released' | 'expired' | 'unknown';
}

/** The results of a load in one process. */
export interface LoadReport {
  readonly holds: readonly Hold[];
  /** The number of failed calls, by code. */
  readonly errors: Readonly<Record<string, number>>;
}

interface LockSettings {
  readonly waitTime?: number;
  readonly leaseTime?: number;
  readonly limit?: number;
  readonly permits?: number;
  readonly mode?: 'shared';
}

export interface WorkerSettings {
  /** Makes the worker's wall clock adjustable: {@link WorkerProcess.setClock}. */
  readonly clock?: boolean;
  /** Lock dashboards show what the worker holds and waits for. */
  readonly isOnPage?: boolean;
  /** Reports no events, which take time. */
  readonly isQuiet?: boolean;
}

interface Commands {
  start: [{ options: object } & WorkerSettings, null];
  acquire: [{ key: string; options?: LockSettings; as?: string }, number];
  queueAs: [{ key: string; sessions: number; options: object }, null];
  release: [{ as: string }, string];
  status: [{ as: string }, SeenHold];
  computeUntilStopped: [{ as: string; gap: number; deadline: number }, SeenHold];
  loop: [{ key: string; options: LockSettings; name: string; work: number; witness: string }, LoopReport];
  pairs: [{ prefix: string; count?: number; ms?: number }, readonly number[]];
  startLoad: [{ keys: readonly string[]; section: readonly [least: number, most: number] }, null];
  endLoad: [object, readonly LoadReport[]];
  stopLoop: [{ name: string }, null];
  workAndExit: [{ keys: readonly string[] }, null];
  askAndExit: [{ key: string }, null];
  close: [object, readonly string[]];
}

interface Message {
  readonly id?: number;
  readonly value?: unknown;
  readonly error?: { readonly name: string; readonly code?: string; readonly message: string };
  readonly event?: WorkerEvent;
  readonly ready?: true;
  readonly unhandled?: string;
}

export interface WorkerEvent {
  readonly type: string;
  readonly key?: string;
}

/** An error of a command in the worker. */
export class WorkerError extends Error {
  constructor(
    message: string,
    readonly code: string | undefined,
  ) {
    super(message);
  }
}

/** A child process that uses the built package and can be killed, stopped and continued like any other. */
export class WorkerProcess {
  readonly events: WorkerEvent[] = [];
  /** Unhandled rejections in the worker; there must be none. */
  readonly unhandled: string[] = [];
  private readonly pending = new Map<number, (message: Message) => void>();
  private readonly eventListeners = new Set<(event: WorkerEvent) => void>();
  private kept: readonly string[] = [];
  private output = '';
  private lastId = 0;

  private constructor(
    private readonly child: ChildProcess,
    private readonly clock: ClockOffset | undefined,
  ) {
    child.stdout?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    child.on('message', (message: Message) => this.receive(message));
    child.on('exit', () => {
      const error = { name: 'Error', message: `the worker has exited: ${this.output}` };
      for (const answer of this.pending.values()) answer({ error });
      this.pending.clear();
    });
    // Commands to an exited process are answered by the listener above.
    child.on('error', () => undefined);
  }

  /** Starts a worker; with module `options`, its application too. */
  static async start(
    options?: object,
    { clock = false, ...settings }: WorkerSettings = {},
  ): Promise<WorkerProcess> {
    if (!existsSync(built)) throw new Error('dist/esm/index.js is missing: run "npm run build" first');
    const script = fileURLToPath(new URL('./lock-worker.mjs', import.meta.url));
    const directory = clock ? mkdtempSync(join(tmpdir(), 'lock-worker-')) : undefined;
    const offset = directory === undefined ? undefined : new ClockOffset(directory);
    // Without the runner's own flags: the worker is an ordinary Node process.
    const env = { ...process.env, NODE_OPTIONS: '', ...offset?.env };
    const execArgv = offset ? ['--import', new URL('./clock-shim.mjs', import.meta.url).href] : [];
    const child = fork(script, { execArgv, env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    guardAgainstOrphans(child, directory);
    child.once('exit', () => {
      offset?.close();
      if (directory !== undefined) rmSync(directory, { recursive: true });
    });
    const worker = new WorkerProcess(child, offset);
    await within(30_000, 'the worker to start', once(child, 'message'));
    if (options) await worker.do('start', { options, ...settings });
    return worker;
  }

  do<C extends keyof Commands>(command: C, args: Commands[C][0]): Promise<Commands[C][1]> {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      this.pending.set(id, ({ value, error }) => {
        if (error) reject(new WorkerError(error.message, error.code));
        // The worker answers each command with its own type; see lock-worker.mjs.
        else resolve(value as Commands[C][1]);
      });
      this.child.send({ id, command, ...args }, (failure) => {
        if (failure) this.receive({ id, error: failure });
      });
    });
  }

  /** Closes the application; returns the kinds of resources that keep the process alive afterwards. */
  get keptOpen(): readonly string[] {
    return this.kept.filter((kind) => /TCP|TLS|Timeout|DNS|GetAddrInfo/i.test(kind));
  }

  /** The next event of that type, or the first one if it was reported already. */
  async event(type: string, ms = 10_000): Promise<WorkerEvent> {
    const seen = this.events.find((event) => event.type === type);
    if (seen) return seen;
    return within(
      ms,
      `the worker's event "${type}"`,
      new Promise((resolve) => {
        const listener = (event: WorkerEvent): void => {
          if (event.type !== type) return;
          this.eventListeners.delete(listener);
          resolve(event);
        };
        this.eventListeners.add(listener);
      }),
    );
  }

  /** Shifts the worker's wall clock by this many ms from now on; needs `clock: true`. */
  setClock(ms: number): void {
    if (!this.clock) throw new Error('start the worker with `{ clock: true }` to set its clock');
    this.clock.set(ms);
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error('the worker did not start');
    return this.child.pid;
  }

  stop(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    await endProcess(this.child);
  }

  /** Holds these locks at the same time, and ends the process by `process.exit()` as soon as all work is done. */
  async workAndExit(keys: readonly string[], ms = 10_000): Promise<void> {
    const exited = once(this.child, 'exit');
    await this.do('workAndExit', { keys });
    await within(ms, 'the worker to exit', exited);
  }

  /** Requests a lock, and ends the process by `process.exit()` in the same tick. */
  async askAndExit(key: string): Promise<void> {
    const exited = once(this.child, 'exit');
    await this.do('askAndExit', { key });
    await within(10_000, 'the worker to exit', exited);
  }

  /** Closes the application and waits until the process exits on its own; returns the exit code. */
  async closeAndExit(ms = 10_000): Promise<number | null> {
    const exited = once(this.child, 'exit');
    this.kept = await this.do('close', {});
    await within(ms, 'the worker to exit on its own', exited);
    return this.child.exitCode;
  }

  private receive(message: Message): void {
    if (message.unhandled !== undefined) this.unhandled.push(message.unhandled);
    if (message.event) {
      this.events.push(message.event);
      for (const listener of [...this.eventListeners]) listener(message.event);
    }
    if (message.id === undefined) return;
    const answer = this.pending.get(message.id);
    this.pending.delete(message.id);
    answer?.(message);
  }
}
