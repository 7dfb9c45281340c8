import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { miniSearch } from '../../docs/.vitepress/search.mjs';

interface Index {
  search(query: string): readonly { readonly id: string }[];
}

const require = createRequire(new URL('../../docs/.vitepress/package.json', import.meta.url));
const chunks = join(import.meta.dirname, '../../docs/.vitepress/dist/assets/chunks');

/** The index of the English pages, read as the search box of VitePress reads it. */
async function builtIndex(): Promise<Index> {
  const { default: MiniSearch } = (await import(require.resolve('minisearch'))) as {
    default: { loadJSON(json: string, options: object): Index };
  };
  const file = readdirSync(chunks).find((name) => name.startsWith('@localSearchIndexroot'));
  if (file === undefined) throw new Error('The site is not built: run "npm run docs:test".');
  const { default: json } = (await import(join(chunks, file))) as { default: string };
  return MiniSearch.loadJSON(json, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    searchOptions: {
      prefix: true,
      boost: { title: 4, text: 2, titles: 1 },
      ...miniSearch.searchOptions,
    },
    ...miniSearch.options,
  });
}

describe('the search', () => {
  let index: Index;
  beforeAll(async () => {
    index = await builtIndex();
  });

  it.each([
    ['NOSPACE', '/operations/runbook'],
    ['queue growing', '/operations/runbook'],
    ['handler takes longer than lease', '/guides/'],
    ['deadlock', '/operations/troubleshooting/locks'],
    ['double booking', '/guides/'],
    ['request-scoped', '/guides/decorators'],
    ['node-redis', '/stores/redis'],
    ['PM2', '/operations/kubernetes'],
    ['CQRS', '/guides/handlers-and-streams'],
    ['serverless', '/operations/kubernetes'],
    ['failover', '/stores/'],
    ['holdAtLeast', '/reference/behaviour'],
    ['409', '/guides/handlers-and-streams'],
    ['cron', '/guides/scheduled-jobs'],
    ['redlock', '/coming-from/node-libraries'],
    ['quorum', '/stores/redis-topologies'],
    ['fencing token', '/guides/fencing'],
    ['stuck lock', '/operations/runbook'],
    ['maxmemory-policy', '/stores/redis'],
    ['tenant', '/guides/decorators'],
    ['time limit', '/guides/lock-service'],
    ['process dies', '/safety/'],
    ['LockLostError', '/reference/api/nestjs-distributed-lock/classes/LockLostError'],
  ])('finds "%s" among the first three results', (query, page) => {
    const base = String(process.env['SITE_BASE']);
    const results = index.search(query).map(({ id }) => id.replace(base, '/'));
    expect(results.slice(0, 3).map((id) => id.replace(/#.*/, ''))).toContain(page);
  });
});
