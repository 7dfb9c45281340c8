export declare function quantile(values: readonly number[], share: number): number;
export declare function median(values: readonly number[]): number;
export declare function spreadOf(values: readonly number[]): {
  readonly median: number;
  readonly min: number;
  readonly max: number;
};
export declare function sum(values: readonly number[]): number;
export declare function mean(values: readonly number[]): number;
