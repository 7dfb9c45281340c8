import type { LockAdmin } from '../api/lock-admin.js';
import type { LockBreakOutcome } from '../model/inspect.options.js';
import { ProcessReport } from './process-report.js';
import type { Overview, ProcessSnapshot, SeriesPoint } from './wire.js';

/** How long all visitors receive the same overview, ms. */
const FRESH = 2_000;
/** Points of the plot: five minutes of overviews. */
const MOST_POINTS = 150;
/** The lifetime of a snapshot, ms: a greater age is due to different clocks. */
const OLDEST = 15_000;
/** How many locks are inspected, and how many broken, at once for all visitors. */
const MOST_CALLS = 8;

/** The locks of all processes, as shown on the lock dashboard. */
export class Dashboard {
  // Not in the controller, which Nest creates anew for each request if a guard has the scope of a request.
  readonly lists = new SharedCalls<object>(1);
  readonly inspections = new SharedCalls<object | null>(MOST_CALLS);
  readonly breaks = new SharedCalls<LockBreakOutcome>(MOST_CALLS);
  private adminsOf: () => readonly LockAdmin[] = () => [];
  private readonly reports = new Map<LockAdmin, ProcessReport>();
  private series: SeriesPoint[] = [];
  private latest: Promise<Overview> | undefined;
  private composedAt = -Infinity;

  constructor(private readonly allowBreak: boolean) {}

  /** @param adminsOf the sessions of the application; modules that it loads lazily add some */
  start(adminsOf: () => readonly LockAdmin[]): void {
    this.adminsOf = adminsOf;
    this.openReports();
  }

  async stop(): Promise<void> {
    this.adminsOf = () => [];
    await Promise.all(this.openReports().map((report) => report.stop()));
  }

  /** The reports of all sessions, new ones included. */
  private openReports(): readonly ProcessReport[] {
    for (const admin of this.adminsOf()) {
      if (this.reports.has(admin)) continue;
      const report = new ProcessReport(admin);
      this.reports.set(admin, report);
      report.start();
    }
    return [...this.reports.values()];
  }

  /** The report of a module instance; undefined if this process has none with that name. */
  reportOf(instance: string | null): ProcessReport | undefined {
    return this.openReports().find(({ admin }) => (admin.status().instance ?? null) === instance);
  }

  /** Composed once for all visitors within two seconds. */
  overview(): Promise<Overview> {
    const now = performance.now();
    if (this.latest === undefined || now - this.composedAt >= FRESH) {
      this.composedAt = now;
      this.latest = this.compose();
    }
    return this.latest;
  }

  private async compose(): Promise<Overview> {
    const notes = new Set<string>();
    const processes = new Map<string, ProcessSnapshot>();
    const reports = this.openReports();
    const read = reports.map(async (report) => {
      if (report.board === undefined) {
        const { name } = report.admin.status().store;
        notes.add(
          `${name} does not let processes publish their state: only this process is shown. List the store for the locks of other processes.`,
        );
        return;
      }
      try {
        await report.view();
        for (const other of await report.others()) {
          const known = processes.get(other.client);
          if (known === undefined || known.at < other.at) processes.set(other.client, other);
        }
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        notes.add(`The state of other processes can't be read: ${why}. Only this process is shown.`);
      }
    });
    await Promise.all(read);
    for (const report of reports) {
      const own = report.snapshot();
      processes.set(own.client, own);
    }
    const now = Date.now();
    const all = [...processes.values()].sort(byHost);
    this.addPoint(now, all);
    return {
      now,
      allowBreak: this.allowBreak,
      processes: all.map((each) => ({ ...each, age: Math.min(OLDEST, Math.max(0, now - each.at)) })),
      series: this.series,
      notes: [...notes],
    };
  }

  private addPoint(now: number, processes: readonly ProcessSnapshot[]): void {
    const sum = (of: 'holds' | 'waiters'): number =>
      processes.reduce((total, { status }) => total + status[of], 0);
    this.series = [...this.series.slice(1 - MOST_POINTS), [now, sum('holds'), sum('waiters')]];
  }
}

function byHost(one: ProcessSnapshot, other: ProcessSnapshot): number {
  return one.host.localeCompare(other.host) || one.pid - other.pid || one.client.localeCompare(other.client);
}

/**
 * Limits the store calls of visitors, which use the same connection as the renewals of this process. Concurrent
 * identical calls of visitors are one call.
 */
class SharedCalls<T> {
  private readonly running = new Map<string, Promise<T>>();

  constructor(private readonly most: number) {}

  /** Undefined if too many other calls are running. */
  call(what: readonly unknown[], start: () => Promise<T>): Promise<T> | undefined {
    const id = JSON.stringify(what);
    const same = this.running.get(id);
    if (same !== undefined) return same;
    if (this.running.size >= this.most) return undefined;
    const answer = start().finally(() => this.running.delete(id));
    this.running.set(id, answer);
    return answer;
  }
}
