import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import Database from 'libsql';

import { Settings } from '../settings/settings.js';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS inventory (
    sku        TEXT    PRIMARY KEY,
    stock      INTEGER NOT NULL CHECK (stock >= 0),
    -- Fencing: the newest lock token that has worked on this row. Older ones are refused.
    last_token INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS orders (
    id       TEXT    PRIMARY KEY,
    sku      TEXT    NOT NULL REFERENCES inventory (sku),
    quantity INTEGER NOT NULL CHECK (quantity > 0)
  );
  CREATE INDEX IF NOT EXISTS orders_by_sku ON orders (sku);
`;

/** How long an instance waits for another one that uses the file, ms. */
const BUSY_TIMEOUT = 10_000;

/** One SQLite file, opened by every instance of the app. */
@Injectable()
export class ShopDatabase implements OnApplicationShutdown {
  readonly connection: Database.Database;

  constructor(settings: Settings) {
    this.connection = new Database(settings.databaseFile);
    // Before anything else: instances that start together then wait for each other instead of failing with SQLITE_BUSY.
    this.connection.pragma(`busy_timeout = ${String(BUSY_TIMEOUT)}`);
    // Readers do not block the one writer, nor the writer the readers.
    useWriteAheadLog(this.connection);
    this.connection.pragma('synchronous = NORMAL');
    this.connection.exec(SCHEMA);
  }

  // The last of Nest's shutdown hooks: by then all orders have ended.
  onApplicationShutdown(): void {
    this.connection.close();
  }
}

/** Instances that start together change the mode at once. SQLite does not wait for another one then, whatever its timeout is. */
function useWriteAheadLog(connection: Database.Database): void {
  const giveUpAt = performance.now() + BUSY_TIMEOUT;
  for (;;) {
    try {
      connection.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      const isBusy = error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY';
      if (!isBusy || performance.now() > giveUpAt) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}
