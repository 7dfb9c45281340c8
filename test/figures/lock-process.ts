import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { guardAgainstOrphans } from '../support/orphan-guard.js';
import { within } from '../support/until.js';
import { readHolds, type Hold } from './hold.js';

/** The results of a load in one process. */
export interface LoadReport {
  readonly holds: readonly Hold[];
  /** The number of failed calls, by code. */
  readonly errors: Readonly<Record<string, number>>;
}

export interface Load {
  readonly keys: readonly string[];
  /** The shortest and the longest time to hold a lock, ms. */
  readonly section: readonly [number, number];
}

interface Reply {
  readonly id?: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** A client in a separate process, which uses the built package: see lock-process.mjs. */
export class LockProcess {
  private readonly pending = new Map<number, (reply: Reply) => void>();
  private readonly loads: Load[] = [];
  private lastId = 0;

  private constructor(private readonly child: ChildProcess) {
    child.on('message', (reply: Reply) => {
      if (reply.id !== undefined) this.pending.get(reply.id)?.(reply);
    });
    child.on('exit', () => {
      for (const answer of this.pending.values()) answer({ error: 'the process has exited' });
    });
    child.on('error', () => undefined);
  }

  /** @param options module options, or those that worker-options.mjs turns into them */
  static async start(options: object): Promise<LockProcess> {
    const script = fileURLToPath(new URL('./lock-process.mjs', import.meta.url));
    const child = fork(script, {
      // Without the runner's own flags: the client is an ordinary Node process.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: '' },
      serialization: 'advanced',
    });
    guardAgainstOrphans(child);
    const client = new LockProcess(child);
    await within(30_000, 'the client to start', once(child, 'message'));
    await client.call('open', { options });
    return client;
  }

  /** The time to acquire and release each free lock, ms. */
  async pairs(plan: { prefix: string; count?: number; ms?: number }): Promise<readonly number[]> {
    return Array.from((await this.call('pairs', plan)) as Float64Array); // by the command's own type
  }

  /** One caller for each key acquires it again and again. Loads with different sections may run side by side. */
  async startLoad(load: Load): Promise<void> {
    this.loads.push(load);
    await this.call('startLoad', load);
  }

  /** Ends the loads; returns their results in the order of their start. */
  async endLoad(): Promise<readonly LoadReport[]> {
    const reports = (await this.call('endLoad', {})) as readonly {
      readonly holds: Float64Array;
      readonly errors: Readonly<Record<string, number>>;
    }[]; // by the command's own type
    return this.loads.splice(0).map(({ keys }, index) => ({
      holds: readHolds(reports[index]!.holds, keys),
      errors: reports[index]!.errors,
    }));
  }

  async close(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    await within(15_000, 'the client to close', this.call('close', {})).catch(() =>
      this.child.kill('SIGKILL'),
    );
    await exited;
  }

  private call(command: string, args: object): Promise<unknown> {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      this.pending.set(id, ({ value, error }) => {
        this.pending.delete(id);
        if (error === undefined) resolve(value);
        else reject(new Error(error));
      });
      this.child.send({ id, command, ...args });
    });
  }
}
