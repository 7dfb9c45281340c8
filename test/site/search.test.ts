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

/** The index of the English (`root`) or the Chinese pages, read as the search box of VitePress reads it. */
async function builtIndex(locale: 'root' | 'zh'): Promise<Index> {
  const { default: MiniSearch } = (await import(require.resolve('minisearch'))) as {
    default: { loadJSON(json: string, options: object): Index };
  };
  const file = readdirSync(chunks).find((name) => name.startsWith(`@localSearchIndex${locale}`));
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
  let english: Index;
  let chinese: Index;
  beforeAll(async () => {
    english = await builtIndex('root');
    chinese = await builtIndex('zh');
  });

  it.each([
    ['NOSPACE', '/operations/runbook'],
    ['queue growing', '/operations/runbook'],
    ['handler takes longer than lease', '/guides/'],
    ['deadlock', '/operations/troubleshooting'],
    ['double booking', '/guides/'],
    ['request-scoped', '/guides/configuration'],
    ['node-redis', '/stores/redis'],
    ['PM2', '/operations/kubernetes'],
    ['CQRS', '/guides/handlers-and-streams'],
    ['serverless', '/operations/kubernetes'],
    ['failover', '/stores/'],
    ['holdAtLeast', '/reference/behaviour'],
    ['409', '/guides/handlers-and-streams'],
    ['cron', '/guides/scheduled-jobs'],
    ['redlock', '/coming-from/node-libraries'],
    ['quorum', '/stores/redis'],
    ['fencing token', '/guides/fencing'],
    ['stuck lock', '/operations/runbook'],
    ['maxmemory-policy', '/stores/redis'],
    ['tenant', '/guides/configuration'],
    ['time limit', '/guides/exclusive'],
    ['process dies', '/safety/'],
    ['LockLostError', '/reference/api/nestjs-distributed-lock/classes/LockLostError'],
    ['two pods run the same cron job', '/guides/scheduled-jobs'],
    ['lock a method by id argument', '/introduction/quick-start'],
    ['app crashes while holding lock', '/safety/'],
    ['wait or fail immediately', '/guides/exclusive'],
    ['decorator does nothing', '/operations/troubleshooting'],
    ['test a service without redis', '/guides/testing'],
    ['esm or commonjs', '/upgrading'],
    ["READONLY You can't write against a read only replica", '/operations/troubleshooting'],
    ['force release stuck lock', '/operations/runbook'],
    ['which process holds the lock', '/operations/runbook'],
    ['Nothing in this process handles SIGTERM', '/operations/troubleshooting'],
    ['serverless lambda', '/operations/kubernetes'],
    ['fencing token pg', '/guides/fencing'],
    ['is my interceptor inside the lock', '/guides/handlers-and-streams'],
    ['FileInterceptor upload', '/guides/handlers-and-streams'],
    ['ValidationPipe DTO', '/guides/handlers-and-streams'],
    ['swagger', '/guides/handlers-and-streams'],
    ['GraphQL error code busy', '/guides/transports'],
    ['gRPC status', '/guides/transports'],
    ['WebSocket exception event', '/guides/transports'],
    ['graceful shutdown', '/introduction/quick-start'],
    ['Drizzle', '/guides/transactions'],
    ['Sequelize', '/guides/transactions'],
    ['MySQL', '/introduction/choosing-a-store'],
    ['MongoDB', '/introduction/choosing-a-store'],
    ['event loop blocked signal', '/guides/exclusive'],
    ['glossary hold grant lease', '/guides/'],
    ['double click charges twice', '/guides/transactions'],
    ['limit concurrency across processes', '/guides/kinds-of-lock'],
    ['nested locks deadlock', '/guides/kinds-of-lock'],
    ['DelayedError', '/guides/scheduled-jobs'],
    ['ShedLock', '/coming-from/'],
    ['Java services share locks', '/coming-from/redisson'],
    ['看门狗', '/zh/guides/exclusive'],
    ['锁过期了业务还没执行完', '/zh/guides/exclusive'],
    ['强制解锁', '/zh/operations/runbook'],
    ['tryLock 等待时间', '/zh/guides/exclusive'],
    ["OOM command not allowed when used memory > 'maxmemory'", '/operations/troubleshooting'],
    ['graceful shutdown', '/operations/kubernetes'],
    ['AWS Lambda', '/operations/kubernetes'],
    ['IAM token ElastiCache', '/stores/managed-services'],
    ['managed PostgreSQL', '/stores/managed-services'],
    ['Supabase pooler', '/stores/managed-services'],
    ['glossary', '/reference/behaviour'],
    ['event loop blocked signal', '/reference/behaviour'],
    ['exception filter log cause', '/reference/behaviour'],
    ['rolling deploy old and new version', '/upgrading'],
    ['move from redis to etcd', '/upgrading'],
    ['restored from a snapshot', '/operations/runbook'],
    ['primary down all keys local', '/stores/'],
    ['TS7016', '/reference/command-line'],
    ['health check readiness', '/operations/monitoring'],
    ['优雅停机', '/zh/operations/kubernetes'],
    ['恢复快照', '/zh/operations/runbook'],
  ])('finds "%s" among the first three results', (query, page) => {
    const base = String(process.env['SITE_BASE']);
    const index = page.startsWith('/zh/') ? chinese : english;
    const results = index.search(query).map(({ id }) => id.replace(base, '/'));
    expect(results.slice(0, 3).map((id) => id.replace(/#.*/, ''))).toContain(page);
  });
});
