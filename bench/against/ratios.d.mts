export interface Ratio {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export declare function ratioOf(
  now: readonly number[],
  then: readonly number[],
  better: 'more' | 'less',
): Ratio;

export declare function judge(tries: readonly number[]): 'good' | 'again' | 'slower';
