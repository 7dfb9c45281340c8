import type { Lease } from './lease.js';

/** Runs what follows after the microtasks that are queued already. */
const SOON = Promise.resolve();

/** Leases that were granted in this tick. Many are over before it ends, and need nobody to watch over them. */
export class NewLeases {
  private leases: Lease[] = [];

  /** @param watch called when all that is due in the tick has run, for those that are held then */
  constructor(private readonly watch: (lease: Lease) => void) {}

  add(lease: Lease): void {
    if (this.leases.push(lease) === 1) void SOON.then(this.watchLater);
  }

  /** Before somebody looks at all leases. */
  readonly watchNow = (): void => {
    const { leases } = this;
    if (leases.length === 0) return;
    this.leases = [];
    for (const lease of leases) if (lease.state === 'held') this.watch(lease);
  };

  private readonly watchLater = (): void => {
    process.nextTick(this.watchNow);
  };
}
