import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { SetupError } from '../setup.mjs';

/**
 * Waits for the line by which a child process reports that it is ready.
 *
 * @param {{ child: import('node:child_process').ChildProcess, output: () => string }} started
 * @param {{ name: string, pattern: RegExp, within: number, stream?: 'stdout' | 'stderr' }} what
 * @returns {Promise<RegExpExecArray>}
 * @throws {SetupError} with the child's output, if it ends first or takes too long
 */
export async function readyLine({ child, output }, { name, pattern, within, stream = 'stdout' }) {
  const lines = createInterface({ input: child[stream] });
  const giveUp = AbortSignal.timeout(within);
  try {
    const ready = new Promise((resolve) => {
      lines.on('line', (line) => {
        const match = pattern.exec(line);
        if (match) resolve(match);
      });
    });
    const failed = Promise.race([once(child, 'close'), once(giveUp, 'abort')]).then(() => {
      const why = giveUp.aborted ? `was not ready within ${within / 1_000} s` : 'ended before it was ready';
      throw new SetupError(`${name} ${why}. Its last output:\n${output()}`);
    });
    return await Promise.race([ready, failed]);
  } finally {
    lines.close();
    // The closed line reader has paused the stream. Keep draining it, or the child blocks on a full pipe.
    child[stream].resume();
  }
}
