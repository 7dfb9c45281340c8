import type { LockProcess } from './lock-process.mjs';

export function wakeUps(order: {
  readonly url: string;
  readonly java: LockProcess;
  readonly node: LockProcess;
  readonly rounds: number;
}): Promise<{ readonly toNode: readonly number[]; readonly toJava: readonly number[] }>;
