/** Options of TypeDoc: the reference of every entry of the package, from the comments in `lib/`, as pages of the site. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readManifest } from './manifest.mjs';
import { API_FOLDER, root } from './pages.mjs';

/** The source of an entry: `./postgres` is `lib/stores/postgres/index.ts`. */
function sourceOf(entry) {
  const name = entry.slice(2);
  const folders = [name === '' ? 'lib' : `lib/${name}`, `lib/stores/${name}`];
  if (name === 'store') folders.push('lib/stores/port');
  const source = folders.map((folder) => `${folder}/index.ts`).find((file) => existsSync(join(root, file)));
  if (source === undefined) throw new Error(`The entry ${entry} of package.json has no index.ts in lib/`);
  return join(root, source);
}

const entries = Object.keys(readManifest().exports).filter((entry) => !entry.endsWith('.json'));

/** @type {import('typedoc').TypeDocOptions & import('typedoc-plugin-markdown').PluginOptions} */
export default {
  name: 'API',
  entryPoints: entries.map(sourceOf),
  tsconfig: join(root, 'tsconfig.json'),
  plugin: ['typedoc-plugin-markdown', join(import.meta.dirname, 'typedoc-entries.mjs')],
  out: join(root, API_FOLDER),
  router: 'member',
  readme: 'none',
  disableSources: true,
  excludeInternal: true,
  excludePrivate: true,
  excludeProtected: true,
  excludeExternals: true,
  // `npm run typecheck` reports errors.
  skipErrorChecking: true,
  treatWarningsAsErrors: true,
  validation: { notExported: true, invalidLink: true, rewrittenLink: true, unusedMergeModuleWith: true },
  intentionallyNotExported: [
    // Details of exported types, which say enough by themselves.
    'ClusterOptionsWithCredentials',
    'ElectionHandler',
    'FactoryOptions',
    'Fits',
    'LeaderElectionFactoryOptions',
    'LockErrorDetails',
    'MethodOf',
    'MistakenName',
    'Never',
    'PASSED_ON',
    'StaticOptions',
    'WithCredentials',
  ],
  logLevel: 'Warn',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'list',
  expandObjects: true,
};
