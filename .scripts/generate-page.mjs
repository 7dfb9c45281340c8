/**
 * Bundles the page of the dashboard, `lib/dashboard/page/`, into one TypeScript module of strings, so that bundled
 * applications need no further files.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The oldest browsers with `dialog` and with `inset` in CSS. */
const BROWSERS = ['chrome100', 'firefox100', 'safari15.4'];

/** The text of the generated module. */
async function renderPageModule(folder) {
  const { build } = await import('esbuild');
  const bundle = async (file, options) => {
    const { outputFiles } = await build({
      entryPoints: [join(folder, file)],
      bundle: true,
      minify: true,
      write: false,
      target: BROWSERS,
      legalComments: 'none',
      logLevel: 'error',
      ...options,
    });
    return outputFiles[0].text.trim();
  };
  const script = await bundle('main.ts', { format: 'esm', tsconfigRaw: {} });
  const style = await bundle('page.css', {});
  return [
    '// Generated from lib/dashboard/page/ by .scripts/generate-page.mjs: change those files, not this one.',
    `export const pageScript: string = ${JSON.stringify(script)};`,
    `export const pageStyle: string = ${JSON.stringify(style)};`,
    '',
  ].join('\n');
}

/** Writes the module. An unchanged module keeps its time stamp: a new one would cause a rebuild. */
export async function generatePage({ cwd = root } = {}) {
  const target = join(cwd, 'lib/dashboard/page.generated.ts');
  const text = await renderPageModule(join(cwd, 'lib/dashboard/page'));
  if (existsSync(target) && readFileSync(target, 'utf8') === text) return;
  writeFileSync(target, text);
}
