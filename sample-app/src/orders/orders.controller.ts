import { Body, Controller, Post } from '@nestjs/common';
import { Locked } from 'nestjs-distributed-lock';

import { inventoryLock } from '../inventory/inventory-lock.js';
import { CreateOrderDto, type PlacedOrder } from './order.dto.js';
import { OrdersService } from './orders.service.js';

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  /**
   * Serves one order of an article at a time, over all instances. The key is computed after validation, so it never contains
   * bad input. If the lock is not free within the waitTime, the library responds with 423.
   */
  @Post()
  @Locked({ key: (order: CreateOrderDto) => inventoryLock(order.sku) })
  create(@Body() order: CreateOrderDto): Promise<PlacedOrder> {
    return this.orders.place(order);
  }

  /** The same code without the lock, to show the difference. */
  @Post('unprotected')
  createUnprotected(@Body() order: CreateOrderDto): Promise<PlacedOrder> {
    return this.orders.placeUnprotected(order);
  }
}
