import { runInThisContext } from 'node:vm';

// Jest gives tests a copy of `process` that real events never reach.
const realProcess = runInThisContext('process') as NodeJS.Process;

/** Runs `action`, and returns its uncaught errors instead of failing the test. */
export async function withUncaughtCollected(action: () => Promise<void>): Promise<unknown[]> {
  const kinds = ['uncaughtException', 'unhandledRejection'] as const;
  const collected: unknown[] = [];
  const collect = (error: unknown): void => void collected.push(error);
  const others = kinds.map((kind) => realProcess.rawListeners(kind));
  for (const kind of kinds) {
    realProcess.removeAllListeners(kind);
    realProcess.on(kind, collect);
  }
  try {
    await action();
    // Node reports an unhandled rejection after the microtasks of its turn.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  } finally {
    kinds.forEach((kind, index) => {
      realProcess.removeListener(kind, collect);
      for (const listener of others[index] ?? []) realProcess.on(kind, listener as (error: unknown) => void);
    });
  }
  return collected;
}
