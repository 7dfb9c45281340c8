const listeners = new Set<() => void>();

/**
 * Calls `listener` when the process ends by itself or by `process.exit()`. It has to finish synchronously: the process waits
 * for nothing then.
 *
 * @returns removes the listener
 */
export function atExit(listener: () => void): () => void {
  // One process listener for all: each one counts towards the limit of the process.
  if (listeners.size === 0) process.on('exit', callAll);
  listeners.add(listener);
  return () => {
    if (listeners.delete(listener) && listeners.size === 0) process.off('exit', callAll);
  };
}

function callAll(): void {
  for (const listener of listeners) listener();
}
