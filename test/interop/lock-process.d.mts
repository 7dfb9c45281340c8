export class LockProcess {
  static java(
    classPath: string,
    addresses: readonly string[],
    watchdogTimeout?: number,
  ): Promise<LockProcess>;
  static node(addresses: readonly string[], watchdogTimeout?: number): Promise<LockProcess>;
  ask(thread: string, command: string, name: string, ...args: readonly (string | number)[]): Promise<string>;
  kill(signal: NodeJS.Signals): void;
  close(): Promise<void>;
}
