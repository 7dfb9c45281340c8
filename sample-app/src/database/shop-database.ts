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

/** One SQLite file, opened by every instance of the app. */
@Injectable()
export class ShopDatabase implements OnApplicationShutdown {
  readonly connection: Database.Database;

  constructor(settings: Settings) {
    this.connection = new Database(settings.databaseFile);
    // Before anything else: instances that start together then wait for each other instead of failing with SQLITE_BUSY.
    this.connection.pragma('busy_timeout = 10000');
    // Readers do not block the one writer, nor the writer the readers.
    this.connection.pragma('journal_mode = WAL');
    this.connection.pragma('synchronous = NORMAL');
    this.connection.exec(SCHEMA);
  }

  // The last of Nest's shutdown hooks: by then all orders have ended.
  onApplicationShutdown(): void {
    this.connection.close();
  }
}
