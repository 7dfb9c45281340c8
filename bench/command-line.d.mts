export declare class UsageError extends Error {}

export declare const USAGE: string;

export interface Order {
  readonly rows: readonly string[];
  readonly quick: boolean;
  readonly write: boolean;
  readonly help: boolean;
  readonly page: boolean;
  readonly against: string | undefined;
  readonly store: string | undefined;
}

export declare function readCommandLine(
  args: readonly string[],
  allRows: readonly string[],
  stores?: Readonly<Record<string, readonly string[]>>,
): Order;
