import { Module } from '@nestjs/common';

import { FraudCheckModule } from '../fraud-check/fraud-check.module.js';
import { InventoryModule } from '../inventory/inventory.module.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';

@Module({
  imports: [InventoryModule, FraudCheckModule],
  controllers: [OrdersController],
  providers: [OrdersService],
})
export class OrdersModule {}
