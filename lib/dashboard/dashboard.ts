import type { LockService } from '../api/lock.service.js';
import { ProcessReport } from './process-report.js';
import type { Overview, ProcessSnapshot, SeriesPoint } from './wire.js';

/** For how long an overview serves all who ask, ms. */
const FRESH = 2_000;
/** Of the moments that are plotted: five minutes of them. */
const MOST_POINTS = 150;
/** The oldest that a snapshot can be, ms. */
const OLDEST = 15_000;

/** The locks of all processes, as those who look at the page see them. */
export class Dashboard {
  private reports: readonly ProcessReport[] = [];
  private series: SeriesPoint[] = [];
  private latest: Promise<Overview> | undefined;
  private madeAt = -Infinity;

  constructor(private readonly allowBreak: boolean) {}

  start(services: readonly LockService[]): void {
    this.reports = services.map((locks) => new ProcessReport(locks));
    for (const report of this.reports) report.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.reports.map((report) => report.stop()));
  }

  /** The service of a module instance; undefined if there is none of that name. */
  locksOf(instance: string | null): LockService | undefined {
    return this.reports.find(({ locks }) => (locks.status().instance ?? null) === instance)?.locks;
  }

  /** Made once for all who ask within two seconds. */
  overview(): Promise<Overview> {
    const now = performance.now();
    if (this.latest === undefined || now - this.madeAt >= FRESH) {
      this.madeAt = now;
      this.latest = this.compose();
    }
    return this.latest;
  }

  /** What the processes tell of one module instance now. */
  async snapshotsOf(instance: string | null): Promise<readonly ProcessSnapshot[]> {
    const report = this.reports.find(({ locks }) => (locks.status().instance ?? null) === instance);
    if (report === undefined) return [];
    const own = report.snapshot();
    const others = await report.others().catch(() => []);
    return [own, ...others.filter(({ client }) => client !== own.client)];
  }

  private async compose(): Promise<Overview> {
    const notes: string[] = [];
    const processes = new Map<string, ProcessSnapshot>();
    const read = this.reports.map(async (report) => {
      const { name } = report.locks.status().store;
      if (!report.isShared) {
        notes.push(
          `${name} does not let processes tell each other how they are: what is shown is that of this process. Ask the store for the locks that others hold.`,
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
        notes.push(`What other processes tell can't be read: ${why}. What is shown is that of this process.`);
      }
    });
    await Promise.all(read);
    for (const report of this.reports) {
      const own = report.snapshot();
      processes.set(own.client, own);
    }
    const now = Date.now();
    const all = [...processes.values()].sort(byPlace);
    this.addPoint(now, all);
    return {
      now,
      allowBreak: this.allowBreak,
      processes: all.map((each) => ({ ...each, age: Math.min(OLDEST, Math.max(0, now - each.at)) })),
      series: this.series,
      notes: [...new Set(notes)],
    };
  }

  private addPoint(now: number, processes: readonly ProcessSnapshot[]): void {
    const sum = (of: 'holds' | 'waiters'): number =>
      processes.reduce((total, { health }) => total + health[of], 0);
    this.series = [...this.series.slice(1 - MOST_POINTS), [now, sum('holds'), sum('waiters')]];
  }
}

/** The same order each time. */
function byPlace(one: ProcessSnapshot, other: ProcessSnapshot): number {
  return one.host.localeCompare(other.host) || one.pid - other.pid || one.client.localeCompare(other.client);
}
