/** What a server tells a process without being asked. */
export declare class PushedEvents {
  /** @param load gives a module of the library by its path */
  static of(store: string, load: (file: string) => Promise<object>): Promise<PushedEvents>;
  /** How many there were so far. */
  readonly dropped: number;
  /** For so long, ms, they are lost. */
  drop(ms: number): void;
}
