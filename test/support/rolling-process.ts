import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { guardAgainstOrphans } from './orphan-guard.js';
import { until } from './until.js';

interface LockSettings {
  readonly waitTime?: number;
  readonly limit?: number;
  readonly mode?: 'shared';
}

interface Commands {
  acquire: [{ key: string; lock: LockSettings; as: string }, { readonly token: number; readonly at: number }];
  release: [{ as: string }, { readonly outcome: string; readonly at: number }];
  compete: [
    { key: string; lock: LockSettings; ms: number; rounds: number; witness: string },
    { readonly rounds: number; readonly overlaps: number; readonly errors: readonly string[] },
  ];
  close: [object, null];
}

interface Message {
  readonly id?: number;
  readonly value?: unknown;
  /** The code of a lock error, or what was thrown. */
  readonly error?: string;
  readonly event?: string;
  readonly key?: string;
}

/** A process that uses one of two versions of the package; see rolling-worker.mjs. */
export class RollingProcess {
  private readonly events: Message[] = [];
  private readonly pending = new Map<number, (message: Message) => void>();
  private output = '';
  private lastId = 0;

  private constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
    child.on('message', (message: Message) => {
      if (message.event !== undefined) this.events.push(message);
      if (message.id === undefined) return;
      this.pending.get(message.id)?.(message);
      this.pending.delete(message.id);
    });
    child.on('exit', () => {
      for (const answer of this.pending.values()) answer({ error: `the process has exited: ${this.output}` });
      this.pending.clear();
    });
  }

  /**
   * @param folder of the built package
   * @param options of the module, see worker-options.mjs
   */
  static async start(folder: string, options: object): Promise<RollingProcess> {
    const script = fileURLToPath(new URL('./rolling-worker.mjs', import.meta.url));
    const settings = JSON.stringify({ folder, options });
    const child = fork(script, [settings], {
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    guardAgainstOrphans(child);
    const started = new RollingProcess(child);
    await until('the process has started', () => {
      if (child.exitCode !== null) throw new Error(started.output);
      return started.events.some(({ event }) => event === 'ready');
    });
    return started;
  }

  do<C extends keyof Commands>(command: C, args: Commands[C][0]): Promise<Commands[C][1]> {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      this.pending.set(id, ({ value, error }) => {
        if (error !== undefined) reject(new Error(error));
        // The process answers each command with its own type.
        else resolve(value as Commands[C][1]);
      });
      this.child.send({ id, command, ...args });
    });
  }

  /** Resolves when a caller of the process waits for the key. */
  async queued(key: string): Promise<void> {
    await until('it waits', () => this.events.some((one) => one.event === 'queued' && one.key === key));
  }

  async close(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    await this.do('close', {});
    await exited;
  }
}
