import { setTimeout } from 'node:timers/promises';
import { Body, Controller, Get, Param, Put } from '@nestjs/common';
import { Locked } from 'nestjs-distributed-lock';

@Controller('price-lists')
export class PriceListsController {
  private readonly prices = new Map<string, number>();

  /** Readers run at the same time. */
  @Get(':id')
  @Locked({ key: (id: string) => `price-list:${id}`, mode: 'shared' })
  async export(@Param('id') id: string): Promise<{ prices: (number | undefined)[] }> {
    const apples = this.prices.get(`${id}:apples`);
    await setTimeout(20);
    return { prices: [apples, this.prices.get(`${id}:pears`)] };
  }

  /** A writer runs alone, so no reader sees one new price and one old one. */
  @Put(':id')
  @Locked({ key: (id: string) => `price-list:${id}`, waitTime: 30_000 })
  async replace(@Param('id') id: string, @Body() { price }: { price: number }): Promise<void> {
    this.prices.set(`${id}:apples`, price);
    await setTimeout(20);
    this.prices.set(`${id}:pears`, price);
  }
}
