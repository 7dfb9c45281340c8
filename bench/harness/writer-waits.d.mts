export type LongestByTime = Map<number, number>;

export declare const SLICE_MS: number;
export declare function note(longest: LongestByTime, from: number, to: number): void;
export declare function longestOf(all: readonly LongestByTime[]): LongestByTime;
export declare function longestWithin(longest: LongestByTime, from: number, to: number): number;
export declare function missesOf(
  waits: readonly { readonly from: number; readonly to: number }[],
  longest: LongestByTime,
  boundMs: number,
): number;
