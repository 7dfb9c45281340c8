import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

interface RunningProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
}

/** Without processes that have ended and are not yet reaped: in a container nothing may ever reap them. */
function runningProcesses(): RunningProcess[] {
  return linesOfSystem().flatMap((line) => {
    const [, pid, state = '', parent, group] = /^\s*(\d+)\s+(\S+)\s+(\d+)\s+(\d+)/.exec(line) ?? [];
    if (pid === undefined || /^[ZX]/.test(state)) return [];
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group) }];
  });
}

/** None if the system does not tell: then only the command itself is known. */
function linesOfSystem(): string[] {
  try {
    return process.platform === 'linux' ? linesOfProc() : linesOfPs();
  } catch {
    return [];
  }
}

function linesOfProc(): string[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // The second field is the name of the program in parentheses, which may contain spaces and parentheses.
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      return [`${name} ${stat.slice(stat.lastIndexOf(')') + 1)}`];
    } catch {
      return []; // it has just ended
    }
  });
}

function linesOfPs(): string[] {
  const { pid, stdout } = spawnSync('ps', ['-A', '-o', 'pid=,stat=,ppid=,pgid='], { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => Number.parseInt(line, 10) !== pid);
}

/** The processes in the group of this process. */
export function processesOfOwnGroup(): ReadonlySet<number> {
  const all = runningProcesses();
  const group = all.find(({ pid }) => pid === process.pid)?.group;
  return new Set(all.filter((each) => each.group === group).map(({ pid }) => pid));
}

/**
 * The processes that a command has started and that still run, including itself: its descendants, and orphans of its
 * process group. A daemon, which leaves the group and its parent, is not among them.
 *
 * @param earlier the processes that were in the group before the command, which a terminal requires to be that of this
 *   process; undefined if the command leads a group of its own
 */
export function processesOf(command: number, earlier: ReadonlySet<number> | undefined): number[] {
  const all = new Map(runningProcesses().map((each) => [each.pid, each]));
  const own = all.get(process.pid);
  const group = earlier === undefined ? command : own?.group;
  // This process and its parents in the group, up to the shell. Their other children belong to a pipeline of the shell.
  const lineage = new Set([process.pid]);
  for (let at = own; at !== undefined; at = at.group === own?.group ? all.get(at.parent) : undefined)
    lineage.add(at.pid);
  const belongs = (each: RunningProcess): boolean => {
    if (lineage.has(each.pid)) return false;
    let top = each;
    for (let at = each; !lineage.has(at.pid);) {
      if (at.pid === command) return true;
      if (at.group === group) top = at;
      const parent = all.get(at.parent);
      if (parent === undefined) break;
      at = parent;
    }
    if (each.group !== group) return false;
    if (earlier === undefined) return true;
    // As the first process of a container, this one is the parent of all orphans.
    return !earlier.has(each.pid) && (top.parent === process.pid || !lineage.has(top.parent));
  };
  return [...all.values()].filter(belongs).map(({ pid }) => pid);
}
