import { closeSync, openSync, readdirSync, readSync } from 'node:fs';

const STATE = /^State:\s+(\w)/m;
const SWITCHES = /^(?:non)?voluntary_ctxt_switches:\s+(\d+)/gm;
/** Sleeping, stopped or dead. `D`, waiting for a disk, does not count: it continues by itself. */
const AT_REST = 'SITtZX';

/** The activity of a server's main process and its children, with all their threads. Linux only. */
export class ProcessActivity {
  /** Status files are kept open by thread, since they are read very often. */
  private readonly files = new Map<string, number>();
  private readonly bytes = Buffer.alloc(4_096);
  private lastSwitches = '';
  private children: readonly number[] = [];

  constructor(private readonly pid: number) {}

  /** Whether all threads sleep now, and none has woken since the last call. */
  isAtRest(): boolean {
    let atRest = true;
    const look = (pid: number): string => {
      let seen = '';
      for (const thread of threadsOf(pid)) {
        const status = this.statusOf(pid, thread);
        atRest &&= AT_REST.includes(STATE.exec(status)?.[1] ?? 'X');
        seen += ` ${[...status.matchAll(SWITCHES)].map(([, count]) => count).join('+')}`;
      }
      return `${String(pid)}:${seen};`;
    };
    const own = look(this.pid);
    // A process that starts a child wakes up for that.
    if (!this.lastSwitches.startsWith(own)) this.children = childrenOf(this.pid);
    const switches = own + this.children.map(look).join('');
    atRest &&= switches === this.lastSwitches;
    this.lastSwitches = switches;
    return atRest;
  }

  close(): void {
    for (const file of this.files.values()) closeSync(file);
    this.files.clear();
  }

  /** Empty for a dead thread. */
  private statusOf(pid: number, thread: string): string {
    const name = `${String(pid)}/task/${thread}`;
    try {
      let file = this.files.get(name);
      if (file === undefined) this.files.set(name, (file = openSync(`/proc/${name}/status`, 'r')));
      return this.bytes.toString('latin1', 0, readSync(file, this.bytes, 0, this.bytes.length, 0));
    } catch {
      const file = this.files.get(name);
      if (file !== undefined) closeSync(file);
      this.files.delete(name);
      return '';
    }
  }
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${String(pid)}/task`);
  } catch {
    return [];
  }
}

function childrenOf(pid: number): readonly number[] {
  return threadsOf(pid).flatMap((thread) => numbersIn(`/proc/${String(pid)}/task/${thread}/children`));
}

function numbersIn(path: string): readonly number[] {
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(65_536);
      const length = readSync(file, bytes, 0, bytes.length, 0);
      return bytes.toString('latin1', 0, length).split(' ').map(Number).filter(Boolean);
    } finally {
      closeSync(file);
    }
  } catch {
    return [];
  }
}
