const listeners = new Set<() => void>();

/**
 * Has something done when the process ends by itself or by `process.exit()`. Nothing is waited for then: it has to be done
 * when the call returns.
 *
 * @returns what takes it back
 */
export function atExit(listener: () => void): () => void {
  // One for all, however many there are: each listener of the process counts against its bound.
  if (listeners.size === 0) process.on('exit', callAll);
  listeners.add(listener);
  return () => {
    if (listeners.delete(listener) && listeners.size === 0) process.off('exit', callAll);
  };
}

function callAll(): void {
  for (const listener of listeners) listener();
}
