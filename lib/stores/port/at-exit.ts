const listeners = new Set<() => void>();

/**
 * Calls `listener` when the process ends normally or by `process.exit()`. It has to finish synchronously, as the
 * process no longer waits for anything.
 *
 * @returns removes the listener
 */
export function atExit(listener: () => void): () => void {
  // One process listener for all: each counts towards the limit of the process.
  if (listeners.size === 0) process.on('exit', callAll);
  listeners.add(listener);
  return () => {
    if (listeners.delete(listener) && listeners.size === 0) process.off('exit', callAll);
  };
}

function callAll(): void {
  for (const listener of listeners) listener();
}
