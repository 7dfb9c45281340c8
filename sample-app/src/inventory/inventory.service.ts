import { Injectable, NotFoundException } from '@nestjs/common';
import { LockService } from 'nestjs-distributed-lock';

import { inventoryLock } from './inventory-lock.js';
import { InventoryRepository, type InventoryLevel } from './inventory.repository.js';

@Injectable()
export class InventoryService {
  constructor(
    private readonly locks: LockService,
    private readonly inventory: InventoryRepository,
  ) {}

  level(sku: string): InventoryLevel {
    const level = this.inventory.level(sku);
    if (level === undefined) throw new NotFoundException(`There is no article "${sku}".`);
    return level;
  }

  /** Acquires the lock by hand, for exactly the lines that need it: no order can run between this read and write. */
  setStock(sku: string, stock: number): Promise<InventoryLevel> {
    return this.locks.withLock(inventoryLock(sku), (lock) => {
      this.inventory.setStock(sku, stock, lock.token);
      return this.level(sku);
    });
  }
}
