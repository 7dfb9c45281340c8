import { Module } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { DistributedLockModule } from 'nestjs-distributed-lock';
import { InvoicesController } from './invoices.controller.js';
import { locksConfig } from './locks.config.js';

@Module({
  imports: [
    ConfigModule.forRoot({ isGlobal: true }),
    // A namespace that returns the options of the module.
    DistributedLockModule.forRootAsync(locksConfig.asProvider()),
    // A second instance, on another Redis, from single variables.
    DistributedLockModule.forRootAsync({
      name: 'billing',
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({
        redis: config.getOrThrow<string>('BILLING_REDIS_URL'),
        keyPrefix: 'billing:',
      }),
    }),
  ],
  controllers: [InvoicesController],
})
export class AppModule {}
