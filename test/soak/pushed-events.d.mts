/** Pushed messages of a server to a process. */
export declare class PushedEvents {
  /** @param load imports a module of the library by its path */
  static of(store: string, load: (file: string) => Promise<object>): Promise<PushedEvents>;
  /** The number of dropped messages. */
  readonly dropped: number;
  /** Drops messages for this long, ms. */
  drop(ms: number): void;
}
