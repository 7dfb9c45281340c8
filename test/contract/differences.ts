import { beforeAll } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContractContext } from './contract-context.js';

/** Records for the table of `npm run rules:table` in what a store may differ. */
export function noteDifferences(name: string, context: ContractContext): void {
  const folder = process.env['RULES_FOLDER'];
  if (folder === undefined) return;
  beforeAll(async () => {
    const named = Object.entries(context.store).filter(([, value]) => typeof value !== 'function');
    const differences = named.map(([difference, value]) => `${difference}: ${String(value)}`).join(', ');
    await writeFile(join(folder, name.replaceAll(' ', '-')), `${name}: ${differences}`);
  });
}
