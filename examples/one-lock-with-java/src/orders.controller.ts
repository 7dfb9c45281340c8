import { setTimeout } from 'node:timers/promises';
import { Controller, Param, Post } from '@nestjs/common';
import { currentLock, Locked } from 'nestjs-distributed-lock';

@Controller('orders')
export class OrdersController {
  /** The Java service invoices orders under the same lock: java/InvoiceService.java. */
  @Post(':id/shipment')
  @Locked({ key: (id: string) => `order:${id}` })
  async ship(@Param('id') id: string): Promise<{ order: string; shippedBy: string; token: number }> {
    await setTimeout(1_000); // the work
    return { order: id, shippedBy: 'Nest', token: currentLock().token };
  }
}
