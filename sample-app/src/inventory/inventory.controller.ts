import { Body, Controller, Get, Param, Put } from '@nestjs/common';

import { SetStockDto, SkuParameter } from './inventory.dto.js';
import { InventoryService } from './inventory.service.js';
import type { InventoryLevel } from './inventory.repository.js';

@Controller('inventory')
export class InventoryController {
  constructor(private readonly inventory: InventoryService) {}

  @Get(':sku')
  level(@Param() { sku }: SkuParameter): InventoryLevel {
    return this.inventory.level(sku);
  }

  @Put(':sku')
  setStock(@Param() { sku }: SkuParameter, @Body() { stock }: SetStockDto): Promise<InventoryLevel> {
    return this.inventory.setStock(sku, stock);
  }
}
