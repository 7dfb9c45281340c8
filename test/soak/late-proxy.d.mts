/** A TCP proxy on the loopback interface; `target` returns the port for each new connection. */
export declare class LateProxy {
  constructor(target: () => number);
  readonly port: number;
  open(): Promise<void>;
  holdReplies(ms: number): void;
  holdRequests(ms: number): void;
  cut(which: () => boolean): void;
  close(): void;
}
