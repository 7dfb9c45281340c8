import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** That of the package which this file, once built, is in. The modules of the core run as CommonJS in both builds. */
export function packageVersion(): string {
  const manifest = readFileSync(join(__dirname, '../../../package.json'), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}
