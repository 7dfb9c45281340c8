import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { OutputStream } from '../../lib/cli/common/output.js';
import { run } from '../../lib/cli/run.js';
import { guardAgainstOrphans } from './orphan-guard.js';
import { until, within } from './until.js';

const built = fileURLToPath(new URL('../../dist/esm/cli.js', import.meta.url));

export interface CommandLineSettings {
  readonly env?: Readonly<Record<string, string>>;
  /** The standard input; empty by default. */
  readonly input?: string;
  /** Keeps the standard input open for {@link CommandLine.type}. */
  readonly isTyping?: boolean;
  /** The path of another copy of the program. */
  readonly program?: string;
  /** A command that runs the program, such as a terminal emulator. */
  readonly through?: (command: readonly string[]) => readonly string[];
}

/** How a run of the program ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line as a separate process, which can receive signals. */
export class CommandLine {
  stdout = '';
  stderr = '';

  private readonly closed: Promise<unknown>;

  private constructor(readonly child: ChildProcess) {
    this.closed = once(child, 'close');
    child.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
  }

  static start(args: readonly string[], settings: CommandLineSettings = {}): CommandLine {
    const { env = {}, input, isTyping = false, program = built, through = (command) => command } = settings;
    if (!existsSync(program)) throw new Error(`${program} is missing: run "npm run build" first`);
    const [file = '', ...rest] = through([process.execPath, program, ...args]);
    // Without the runner's own flags and settings of this machine: the store's address, and whether to use colours.
    const { CI: _, NO_COLOR: __, FORCE_COLOR: ___, NODE_DISABLE_COLORS: ____, ...inherited } = process.env;
    const environment = { ...inherited, NODE_OPTIONS: '', LOCK_REDIS_URL: '', ...env };
    const child = spawn(file, rest, {
      env: environment,
      stdio: [input === undefined && !isTyping ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    guardAgainstOrphans(child);
    child.stdin?.on('error', () => undefined);
    if (!isTyping) child.stdin?.end(input);
    return new CommandLine(child);
  }

  static async run(args: readonly string[], settings?: CommandLineSettings): Promise<Ended> {
    return await CommandLine.start(args, settings).ended();
  }

  get pid(): number {
    return this.child.pid!;
  }

  get hasExited(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  type(text: string): void {
    this.child.stdin?.write(text);
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.child.kill(signal);
    return Promise.resolve();
  }

  /** Resolves when the process has exited; its output may not be complete by then. */
  async exited(ms = 60_000): Promise<Ended> {
    if (!this.hasExited) await within(ms, 'the command line to exit', once(this.child, 'exit'));
    return this.now;
  }

  /** Resolves when the process has exited and all output, including that of its children, is read. */
  async ended(ms = 60_000): Promise<Ended> {
    const what = `the command line to end (it wrote ${JSON.stringify([this.stdout, this.stderr])})`;
    await within(ms, what, this.closed);
    return this.now;
  }

  /** Resolves when the output matches. */
  async wrote(pattern: RegExp, ms = 30_000): Promise<RegExpExecArray> {
    return await until(
      `the output has ${String(pattern)}`,
      () => {
        const found = pattern.exec(this.stdout);
        if (!found && this.hasExited && this.child.stdout?.readableEnded === true) {
          throw new Error(`the command line exited before: ${JSON.stringify(this.now)}`);
        }
        return found;
      },
      { deadline: ms },
    );
  }

  private get now(): Ended {
    const { exitCode: code, signalCode: signal } = this.child;
    return { code, signal, stdout: this.stdout, stderr: this.stderr };
  }
}

const { warn } = console;
let running = 0;

/**
 * Runs a command that needs no input and no signals inside this process: most of the time of such a command is the start
 * of its process.
 */
export async function runHere(
  args: readonly string[],
  { env = {} }: Pick<CommandLineSettings, 'env'> = {},
): Promise<Ended> {
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr'): OutputStream => ({
    write: (text, done) => {
      written[name] += text;
      done?.();
      return true;
    },
    on: () => undefined,
  });
  // As in the program: the command itself reports what ioredis warns about.
  Object.assign(console, { warn: () => undefined });
  running += 1;
  try {
    const [stdout, stderr] = [stream('stdout'), stream('stderr')];
    const code = await run({ argv: args, env, stdout, stderr, load: (url) => import(url) });
    return { code, signal: null, ...written };
  } finally {
    running -= 1;
    if (running === 0) Object.assign(console, { warn });
  }
}
