import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Copies the unbundled build into a folder, so that a rebuild does not affect a run, and bugs are planted only into
 * copies. Faults and plants change single modules.
 *
 * @returns {{ entry: string, filesIn(folder: string): string[], read(file: string): string | undefined,
 *   write(file: string, text: string): void }}
 */
export function copyBuild(directory) {
  const copy = join(directory, 'build');
  cpSync(join(root, 'build/cjs'), copy, { recursive: true });
  // Dependencies are resolved from the original.
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'dir');
  const pathOf = (file) => join(copy, file);
  return {
    entry: join(copy, 'index.js'),
    filesIn: (folder) =>
      readdirSync(pathOf(folder), { recursive: true })
        .filter((name) => name.endsWith('.js'))
        .map((name) => folder + name),
    read: (file) => (existsSync(pathOf(file)) ? readFileSync(pathOf(file), 'utf8') : undefined),
    write: (file, text) => writeFileSync(pathOf(file), text),
  };
}
