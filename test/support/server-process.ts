import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { whenReady } from '../../.scripts/servers/processes.mjs';
import { until } from './until.js';

export function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Sends a signal that ends the process, and waits for its exit. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (hasExited(child)) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

/** Resolves when the program reports that it is ready. */
export async function untilReady(name: string, child: ChildProcess, ready: RegExp): Promise<void> {
  const { isReady, output } = await whenReady(child, ready);
  if (!isReady) throw new Error(`${name} exited immediately:\n${output}`);
}

/** A server with one process, whose data survives a restart. */
export abstract class PersistentServer {
  protected constructor(
    protected readonly directory: string,
    protected process: ChildProcess,
  ) {}

  /** Restarts on the same ports, with its data. */
  abstract restart(): Promise<void>;

  mainProcess(): number {
    const { pid } = this.process;
    if (pid === undefined) throw new Error('the server has not been started');
    return pid;
  }

  get hasEnded(): boolean {
    return hasExited(this.process);
  }

  /** SIGKILL; written data survives. */
  async kill(): Promise<void> {
    await endProcess(this.process);
  }

  /** Connections stay open, and nothing is answered. */
  async stop(): Promise<void> {
    await stopThreads(this.mainProcess());
  }

  resume(): void {
    this.process.kill('SIGCONT');
  }

  /** Saves the current data for {@link restoreData}, and restarts. */
  async saveData(): Promise<void> {
    await this.kill();
    await cp(join(this.directory, 'data'), join(this.directory, 'saved'), { recursive: true });
    await this.restart();
  }

  /** Restarts with the data of {@link saveData}. */
  async restoreData(): Promise<void> {
    await this.kill();
    await rm(join(this.directory, 'data'), { recursive: true });
    await cp(join(this.directory, 'saved'), join(this.directory, 'data'), { recursive: true });
    await this.restart();
  }
}

/**
 * Sends SIGSTOP to a multi-threaded process: on a busy machine its threads continue until the main thread runs and stops
 * them all. Resolves when all have stopped (immediately, except on Linux).
 */
async function stopThreads(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  if (process.platform !== 'linux') return;
  await until('all its threads are stopped', async () => {
    const tasks = `/proc/${String(pid)}/task`;
    // Threads that end meanwhile are missing the next time.
    const state = (task: string): Promise<string> =>
      readFile(join(tasks, task, 'stat'), 'utf8').catch(() => '');
    const states = (await readdir(tasks)).map(state);
    return (await Promise.all(states)).every((seen) => seen.includes(') T '));
  });
}
