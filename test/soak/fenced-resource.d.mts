/** Rejects writes whose token is smaller than an earlier one for the same key. */
export declare class FencedResource {
  accepted: number;
  refused: number;
  /** Whether the write was accepted. */
  write(key: string, token: number): boolean;
}
