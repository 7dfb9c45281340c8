import { Injectable, Module } from '@nestjs/common';
import { LockService } from '../../../lib/index.js';
import { ExclusionWitness } from '../../support/exclusion-witness.js';

/** The key that every handler of these applications is locked with. */
export const KEY = 'stock';

/** What a buyer gets. */
export interface Receipt {
  readonly buyer: string;
  readonly left: number;
  /** Whether the code that sold it knew of its lock. */
  readonly locked: boolean;
  /** Whether the lock was still held when an interceptor inside it saw the receipt; only where there is one. */
  readonly stamped?: boolean;
}

/** Goods that are sold honestly racily: a buyer who is not alone in here overwrites somebody's purchase. */
@Injectable()
export class Stock {
  left = 10;
  readonly inside = new ExclusionWitness();

  constructor(private readonly locks: LockService) {}

  async take(buyer: string): Promise<Receipt> {
    this.inside.enter();
    try {
      const seen = this.left;
      // Round trips that give everybody else the time to come in between.
      for (let look = 0; look < 3; look++) await this.locks.isLocked(KEY);
      this.left = seen - 1;
    } finally {
      this.inside.leave();
    }
    return { buyer, left: this.left, locked: this.locks.current(KEY)?.isHeld === true };
  }
}

@Module({ providers: [Stock], exports: [Stock] })
export class StockModule {}
