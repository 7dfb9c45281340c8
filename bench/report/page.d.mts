import type { Check } from './checks.mjs';

export interface MeasuredRow {
  readonly id: string;
  readonly title: string;
  readonly checks: readonly Check[];
  readonly measuredAt: string;
  readonly commit: string | undefined;
  readonly machine: Readonly<Record<string, string | number>>;
  readonly data: unknown;
}

export declare function pageWith(page: string, rows: readonly MeasuredRow[]): string;
