import { runInThisContext } from 'node:vm';

// Jest gives its tests a copy of `process` that real events never reach.
const realProcess = runInThisContext('process') as NodeJS.Process;

/** Runs `action` with errors that nobody caught collected rather than failing the test, and gives them back. */
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
    // Node tells of a rejection after the microtasks of the turn in which it was not handled.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  } finally {
    kinds.forEach((kind, index) => {
      realProcess.removeListener(kind, collect);
      for (const listener of others[index] ?? []) realProcess.on(kind, listener as (error: unknown) => void);
    });
  }
  return collected;
}
