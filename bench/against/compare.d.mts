import type { Ratio } from './ratios.mjs';

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export interface OpenGauge {
  sample(): Promise<number>;
  close(): Promise<unknown>;
}

export interface Gauge {
  readonly better: 'more' | 'less';
  open(context: object, build?: string): Promise<OpenGauge>;
}

export interface Compared {
  readonly now: Spread;
  readonly then: Spread;
  readonly ratio: Ratio;
}

export declare function withBoth<T>(
  gauge: Gauge,
  context: object,
  build: string,
  use: (measure: (rounds: number) => Promise<Compared>) => Promise<T>,
): Promise<T | { readonly missing: string }>;
