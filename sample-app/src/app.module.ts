import { Module, ValidationPipe } from '@nestjs/common';
import { APP_PIPE } from '@nestjs/core';
import { DistributedLockModule } from 'nestjs-distributed-lock';

import { InventoryModule } from './inventory/inventory.module.js';
import { OrdersModule } from './orders/orders.module.js';
import { Settings } from './settings/settings.js';
import { SettingsModule } from './settings/settings.module.js';

@Module({
  imports: [
    SettingsModule,
    DistributedLockModule.forRootAsync({
      inject: [Settings],
      useFactory: (settings: Settings) => ({
        ...(settings.lockStore === 'memory' ? { store: 'memory' as const } : { redis: settings.redisUrl }),
        keyPrefix: settings.lockKeyPrefix,
        waitTime: settings.lockWaitTime,
      }),
    }),
    InventoryModule,
    OrdersModule,
  ],
  providers: [
    {
      provide: APP_PIPE,
      useValue: new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true }),
    },
  ],
})
export class AppModule {}
