import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Reports the progress of the measurement. */
export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Passes figures to the script that prints them. */
export async function record(name: string, figures: unknown): Promise<void> {
  const folder = process.env['FIGURES_FOLDER'];
  if (folder === undefined)
    throw new Error('run this by "npm run figures:topologies" or "npm run figures:stores"');
  await writeFile(join(folder, `${name}.json`), JSON.stringify(figures));
}
