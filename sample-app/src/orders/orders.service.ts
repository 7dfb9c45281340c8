import { randomUUID } from 'node:crypto';

import { ConflictException, Injectable, NotFoundException } from '@nestjs/common';
import { LockService } from 'nestjs-distributed-lock';

import { SimulatedFraudCheck } from '../fraud-check/simulated-fraud-check.js';
import { inventoryLock } from '../inventory/inventory-lock.js';
import { InventoryRepository } from '../inventory/inventory.repository.js';
import type { CreateOrderDto, PlacedOrder } from './order.dto.js';

@Injectable()
export class OrdersService {
  constructor(
    private readonly locks: LockService,
    private readonly inventory: InventoryRepository,
    private readonly fraudCheck: SimulatedFraudCheck,
  ) {}

  /**
   * Acquires the lock itself, so that every caller is safe. If the controller of the request holds the lock already, it is
   * re-entered: without waiting, without a round trip, and with the same token.
   */
  place(order: CreateOrderDto): Promise<PlacedOrder> {
    return this.locks.withLock(inventoryLock(order.sku), (lock) => this.deduct(order, lock.token));
  }

  placeUnprotected(order: CreateOrderDto): Promise<PlacedOrder> {
    return this.deduct(order, null);
  }

  /** Reads, works and writes back: without a lock, other orders can change the stock in between. */
  private async deduct({ sku, quantity }: CreateOrderDto, token: number | null): Promise<PlacedOrder> {
    const stock = token === null ? this.inventory.stock(sku) : this.inventory.stockForHolder(sku, token);
    if (stock === undefined) throw new NotFoundException(`There is no article "${sku}".`);
    if (stock < quantity) {
      throw new ConflictException(`Only ${stock} of "${sku}" left, ${quantity} ordered.`);
    }

    await this.fraudCheck.approve();

    const placed = { orderId: randomUUID(), sku, quantity, remaining: stock - quantity };
    this.inventory.recordSale(placed, token);
    return placed;
  }
}
