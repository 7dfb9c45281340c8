import type { ChildProcess } from 'node:child_process';

export interface Started {
  readonly child: ChildProcess;
  output(): string;
}

export declare class Leftovers {
  readonly signal: AbortSignal;
  readonly interrupted: boolean;
  exitCodeOnSignal: number | undefined;
  removeOnSignals(onSignal: () => void): void;
  checkpoint(): Promise<void>;
  folder(prefix: string): string;
  task(run: () => Promise<void> | void): void;
  remove(): Promise<void>;
}

export declare function isRunning(child: ChildProcess): boolean;
