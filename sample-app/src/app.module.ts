import { Module, ValidationPipe } from '@nestjs/common';
import { APP_PIPE } from '@nestjs/core';
import { DistributedLockModule, type DistributedLockOptions } from 'nestjs-distributed-lock';
import { LockDashboardModule } from 'nestjs-distributed-lock/dashboard';
import { etcdStore } from 'nestjs-distributed-lock/etcd';
import { postgresStore } from 'nestjs-distributed-lock/postgres';
import { LockPrometheusModule } from 'nestjs-distributed-lock/prometheus';
import { zookeeperStore } from 'nestjs-distributed-lock/zookeeper';

import { LocalOnlyGuard } from './operations/local-only.guard.js';
import { InventoryModule } from './inventory/inventory.module.js';
import { OperationsModule } from './operations/operations.module.js';
import { OrdersModule } from './orders/orders.module.js';
import { Settings } from './settings/settings.js';
import { SettingsModule } from './settings/settings.module.js';

/** Selects the store of locks; everything else is the same for all stores. */
function lockStoreOptions(settings: Settings): DistributedLockOptions {
  switch (settings.lockStore) {
    case 'memory':
      return { store: 'memory' };
    case 'etcd':
      return { store: etcdStore({ hosts: settings.etcdHosts }) };
    case 'postgres':
      return { store: postgresStore({ connection: settings.postgresUrl, createSchema: true }) };
    case 'zookeeper':
      return { store: zookeeperStore({ hosts: settings.zookeeperHosts }) };
    case 'redis':
      return { redis: settings.redisUrl, keyPrefix: settings.lockKeyPrefix };
  }
}

@Module({
  imports: [
    SettingsModule,
    DistributedLockModule.forRootAsync({
      inject: [Settings],
      useFactory: (settings: Settings) => ({
        ...lockStoreOptions(settings),
        waitTime: settings.lockWaitTime,
      }),
    }),
    LockPrometheusModule.forRoot(),
    // The dashboard shows the locks of all processes of the shop.
    LockDashboardModule.forRoot({
      path: '/locks',
      guards: [LocalOnlyGuard],
      // The guard checks the client's address, which does not stop a website whose own name resolves to this machine.
      hosts: ['localhost', '127.0.0.1', '[::1]'],
      allowBreak: true,
    }),
    InventoryModule,
    OrdersModule,
    OperationsModule,
  ],
  providers: [
    {
      provide: APP_PIPE,
      useValue: new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true }),
    },
  ],
})
export class AppModule {}
