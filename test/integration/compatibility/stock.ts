import { Injectable, Module } from '@nestjs/common';
import { LockService } from '../../../lib/index.js';
import { ExclusionWitness } from '../../support/exclusion-witness.js';
import { Gate } from '../nest/gate.js';

/** The lock key of every handler of these applications. */
export const KEY = 'stock';

/** The result of a purchase. */
export interface Receipt {
  readonly buyer: string;
  readonly left: number;
  /** Whether the selling code was in the scope of its lock. */
  readonly locked: boolean;
  /** Whether the lock was still held in the interceptor inside it. Undefined without an interceptor. */
  readonly stamped?: boolean;
}

/** Intentionally racy: simultaneous buyers overwrite each other's purchases. */
@Injectable()
export class Stock {
  left = 10;
  readonly inside = new ExclusionWitness();

  constructor(private readonly locks: LockService) {}

  /** Closed: a purchase takes until the test opens it. */
  slowly: Gate | undefined;

  async take(buyer: string): Promise<Receipt> {
    this.inside.enter();
    try {
      const seen = this.left;
      // Round trips, so that other buyers have time to interfere.
      await this.slowly?.pass();
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
