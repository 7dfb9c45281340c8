/** A TCP proxy of the loopback interface; new connections lead to the port that `target` says then. */
export declare class LateProxy {
  constructor(target: () => number);
  readonly port: number;
  open(): Promise<void>;
  holdReplies(ms: number): void;
  holdRequests(ms: number): void;
  cut(which: () => boolean): void;
  close(): void;
}
