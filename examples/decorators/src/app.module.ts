import type { IncomingMessage } from 'node:http';
import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { ClsModule, type ClsService } from 'nestjs-cls';
import { DistributedLockModule } from 'nestjs-distributed-lock';
import { ReportsController } from './reports.controller.js';
import { ReportsService } from './reports.service.js';

@Module({
  imports: [
    DistributedLockModule.forRoot({ redis: process.env.REDIS_URL ?? 'redis://localhost:6379' }),
    ScheduleModule.forRoot(),
    ClsModule.forRoot({
      global: true,
      middleware: {
        mount: true,
        setup: (cls: ClsService, request: IncomingMessage) => cls.set('tenant', request.headers['x-tenant']),
      },
    }),
  ],
  controllers: [ReportsController],
  providers: [ReportsService],
})
export class AppModule {}
