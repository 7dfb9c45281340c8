import { createInterface } from 'node:readline';

/** Asks at the terminal; the output stays free for results. Nothing but y or yes counts, and no answer is none. */
export function confirmed(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    const answer = (text: string): void => {
      resolve(/^y(es)?$/i.test(text.trim()));
      terminal.close();
    };
    terminal.on('close', () => {
      resolve(false);
    });
    terminal.on('SIGINT', () => {
      answer('');
    });
    terminal.question(question, answer);
  });
}
