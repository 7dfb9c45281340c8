import { Injectable } from '@nestjs/common';

import { ShopDatabase } from '../database/shop-database.js';
import { StaleLockException } from './stale-lock.exception.js';

export interface InventoryLevel {
  sku: string;
  stock: number;
  sold: number;
  orders: number;
}

export interface Sale {
  orderId: string;
  sku: string;
  quantity: number;
  /** The stock after the sale, as computed by the caller. */
  remaining: number;
}

/**
 * Fencing: `token` is the token of the caller's lock. A lock can be lost before its holder notices (a long pause, a broken
 * network), so the database makes the final check: each row remembers the newest token that has used it, and rejects older
 * ones. Without a token nothing is checked.
 */
@Injectable()
export class InventoryRepository {
  constructor(private readonly database: ShopDatabase) {}

  level(sku: string): InventoryLevel | undefined {
    const row = this.database.connection
      .prepare(
        `SELECT stock, count(orders.id) AS orders, coalesce(sum(quantity), 0) AS sold
           FROM inventory LEFT JOIN orders USING (sku) WHERE sku = ? GROUP BY sku`,
      )
      .get(sku) as Omit<InventoryLevel, 'sku'> | undefined;
    return row && { sku, stock: row.stock, sold: row.sold, orders: row.orders };
  }

  setStock(sku: string, stock: number, token: number): void {
    const { changes } = this.database.connection
      .prepare(
        `INSERT INTO inventory (sku, stock, last_token) VALUES (:sku, :stock, :token)
           ON CONFLICT (sku) DO UPDATE SET stock = :stock, last_token = :token WHERE last_token <= :token`,
      )
      .run({ sku, stock, token });
    if (changes === 0) throw new StaleLockException(sku);
  }

  stock(sku: string): number | undefined {
    const row = this.database.connection.prepare('SELECT stock FROM inventory WHERE sku = ?').get(sku);
    return (row as { stock: number } | undefined)?.stock;
  }

  /**
   * Reads the stock and stores the token, so that older holders can no longer write. If only writes stored their token, a
   * late write of an older holder could still land between our read and our write.
   */
  stockForHolder(sku: string, token: number): number | undefined {
    const row = this.database.connection
      .prepare(
        'UPDATE inventory SET last_token = :token WHERE sku = :sku AND last_token <= :token RETURNING stock',
      )
      .get({ sku, token }) as { stock: number } | undefined;
    if (row === undefined && this.stock(sku) !== undefined) throw new StaleLockException(sku);
    return row?.stock;
  }

  /** Writes the remaining stock and the order, both or neither. */
  recordSale({ orderId, sku, quantity, remaining }: Sale, token: number | null): void {
    const { connection } = this.database;
    const record = connection.transaction(() => {
      const { changes } = connection
        .prepare(
          'UPDATE inventory SET stock = :remaining WHERE sku = :sku AND (:token IS NULL OR last_token <= :token)',
        )
        .run({ sku, remaining, token });
      if (changes === 0) throw new StaleLockException(sku);
      connection
        .prepare('INSERT INTO orders (id, sku, quantity) VALUES (?, ?, ?)')
        .run(orderId, sku, quantity);
    });
    record.immediate();
  }
}
