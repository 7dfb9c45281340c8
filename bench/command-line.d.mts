export declare class UsageError extends Error {}

export declare const USAGE: string;

export interface Order {
  readonly rows: readonly string[];
  readonly quick: boolean;
  readonly write: boolean;
  readonly help: boolean;
  readonly page: boolean;
  readonly against: string | undefined;
}

export declare function readCommandLine(args: readonly string[], known: readonly string[]): Order;
