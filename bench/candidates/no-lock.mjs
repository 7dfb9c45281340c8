/** The same work by callers who need no lock: what the machine and its timers can do at all. */
export const name = 'no lock';
export const kind = 'ideal';
export const settings = { readme: {} };

export async function open() {
  return {
    version: '',
    withLock: async (_key, fn) => await fn(),
    close: async () => undefined,
  };
}
