/** Refuses writes whose token is smaller than that of an earlier one under the same key. */
export declare class FencedResource {
  accepted: number;
  refused: number;
  /** Whether the write was taken. */
  write(key: string, token: number): boolean;
}
