import { IsInt, Matches, Max, Min } from 'class-validator';

export const SKU_PATTERN = /^[\w.-]{1,64}$/;
export const SKU_MESSAGE = 'sku must be 1 to 64 letters, digits, dots, dashes or underscores';

export class SkuParameter {
  @Matches(SKU_PATTERN, { message: SKU_MESSAGE })
  sku!: string;
}

export class SetStockDto {
  @IsInt()
  @Min(0)
  @Max(1_000_000_000)
  stock!: number;
}
