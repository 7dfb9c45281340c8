import { IsInt, Matches, Max, Min } from 'class-validator';

import { SKU_MESSAGE, SKU_PATTERN } from '../inventory/inventory.dto.js';

export class CreateOrderDto {
  @Matches(SKU_PATTERN, { message: SKU_MESSAGE })
  sku!: string;

  @IsInt()
  @Min(1)
  @Max(1_000_000)
  quantity!: number;
}

export interface PlacedOrder {
  orderId: string;
  sku: string;
  quantity: number;
  remaining: number;
}
