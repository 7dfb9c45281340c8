/**
 * The rooms of the library, and which others each may look into. docs/internals/architecture.md draws the picture. Imports point one
 * way only: down this list. The core (all but `nest`) knows nothing of Nest: both builds share it, see
 * docs/internals/decisions/0001-two-builds-one-state.md.
 */
const ROOMS = {
  'index\\.ts$': ['nest', 'api', 'model', 'stores'],
  // What applications import beside the package, to see how their locks are.
  'health/': [
    'health',
    'api',
    'model',
    'nest/module/(async-options|lock-service\\.injection|one-per-process)',
  ],
  'prometheus/': [
    'prometheus',
    'instruments',
    'model',
    'nest/module/(async-options|lazy-load|one-per-process)',
  ],
  'opentelemetry/': [
    'opentelemetry',
    'instruments',
    'model',
    'nest/module/(async-options|lazy-load|one-per-process)',
  ],
  'leader/': [
    'leader',
    'api',
    'engine/(lock-engine|report/event-hub|long-holds)',
    'nest/module/(async-options|distributed-lock\\.options|lock-lifecycle|lock-service\\.injection|one-per-process)',
    'model',
    'common',
  ],
  'instruments/': ['instruments', 'api', 'model'],
  // A program of its own, which takes the options of the module, and does without Nest.
  'cli/': [
    'cli',
    'api',
    'engine/lock-engine',
    'nest/module/distributed-lock\\.options',
    'stores/redis/(doctor|connection/redis-connection)',
    'model',
    'common',
  ],
  'testing/': [
    'testing',
    'leader/leader-election\\.ts',
    'api',
    'engine/lock-engine',
    'stores/(port|memory)',
    'model',
    'common',
  ],
  // The page of locks. Its part in the browser knows only what it is told.
  'dashboard/(?!page/)': [
    'dashboard/(?!page/)',
    'instruments/sources',
    'api',
    'engine/report/client-id',
    'nest/module/(async-options|lazy-load)',
    'stores/port',
    'model',
  ],
  'dashboard/page/': ['dashboard/(page/|wire)'],
  // The module wires everything; nothing that it wires knows it.
  'nest/module/': ['nest', 'api', 'engine/lock-engine', 'stores', 'model', 'common'],
  // Decorators and request handling know the service, not what is behind it.
  'nest/(decorators|locked/|requests/)': [
    'nest/(locked|requests)',
    'nest/module/(lock-service\\.injection|one-per-process)',
    'api',
    'model',
    'common',
  ],
  'api/': ['api', 'engine', 'stores/port', 'model', 'common'],
  // The engine knows the port and no store.
  'engine/[^/]+$': ['engine', 'stores/port', 'model', 'common'],
  'engine/report/': ['engine/report', 'stores/port', 'model', 'common'],
  'engine/turn\\.ts$': ['stores/port/lock-store', 'common'],
  // A store needs the port, errors and collections, and never asks who calls it.
  'stores/redis/': ['stores/(redis|port)', 'model', 'common'],
  'stores/redisson/': ['stores/(redisson|redis|port)', 'model', 'common'],
  'stores/memory/': ['stores/(memory|port)', 'model', 'common'],
  'stores/etcd/': ['stores/(etcd|ordered|port)', 'model', 'common'],
  'stores/postgres/': ['stores/(postgres|port)', 'model', 'common'],
  'stores/zookeeper/': ['stores/(zookeeper|ordered|port)', 'model', 'common'],
  // What stores have in common that keep a queue of entries for each lock.
  'stores/ordered/': ['stores/(ordered|port)', 'model', 'common'],
  'stores/quorum/': ['stores/(quorum|port)', 'model', 'common'],
  // It stands between the engine and any store, and knows none of them but the one in memory.
  'stores/fallback/': ['stores/(fallback|memory|port)', 'model', 'common'],
  // The port speaks of owners, leases and grants; no store and no engine shows in it.
  'stores/port/': ['stores/port', 'model', 'common'],
  'model/': ['model', 'common'],
  'common/': ['common'],
};

/** Which rooms a room may look into, as rules of the checker. */
function rooms() {
  return Object.entries(ROOMS).map(([room, others]) => ({
    name: `imports-of-${room.replace(/[^a-z|]+/g, '-')}`,
    severity: 'error',
    from: { path: `^lib/${room}` },
    to: { path: '^lib/', pathNot: others.map((other) => `^lib/${other}`) },
  }));
}

/** What users import: the package, its part for their tests, and stores with clients of their own. */
const ENTRIES =
  '^lib/(((testing|dashboard|health|leader|prometheus|opentelemetry|stores/(etcd|port|postgres|redisson|zookeeper))/)?index|cli/bin)\\.ts$';
const NEST_LAYER =
  '^lib/(index\\.ts$|nest/|dashboard/|health/|(leader|prometheus|opentelemetry)/(index|[a-z-]+\\.(module|decorators))\\.ts$)';
/** What is reached by the entries beside the package only. */
const BESIDE =
  '(testing|dashboard|health|leader|instruments|prometheus|opentelemetry|cli)/|stores/((etcd|ordered|postgres|redisson|zookeeper)/|redis/doctor/examine-redis|port/(at-exit|index|kept-connection|outbox))';

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-circular',
      comment:
        'Modules that load each other are one module or hide a third one. Circles of types are fine: they say what is true.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-circular-types-in-the-engine',
      comment: 'In the engine, circles of types count, too: what is lower can be read without what is above.',
      severity: 'error',
      from: { path: '^lib/engine/' },
      to: { circular: true },
    },
    {
      name: 'no-circular-folders',
      comment: 'Folders depend on each other one way, types included.',
      severity: 'error',
      scope: 'folder',
      from: { path: '^lib' },
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'Nothing imports this module: import it or delete it.',
      severity: 'error',
      from: { orphan: true, path: '^lib/', pathNot: ENTRIES },
      to: {},
    },
    {
      name: 'reachable-from-index',
      comment: 'Code that no user can reach is not part of the package.',
      severity: 'error',
      from: { path: '^lib/index\\.ts$' },
      to: { path: `^lib/(?!${BESIDE})`, reachable: false },
    },
    {
      name: 'reachable-from-testing',
      comment: 'The same of the part for tests.',
      severity: 'error',
      from: { path: '^lib/testing/index\\.ts$' },
      to: { path: '^lib/testing/', reachable: false },
    },
    {
      name: 'reachable-from-postgres',
      comment: 'The same of the store that is imported by itself.',
      severity: 'error',
      from: { path: '^lib/stores/postgres/index\\.ts$' },
      to: { path: '^lib/stores/postgres/', reachable: false },
    },
    {
      name: 'reachable-from-etcd',
      comment: 'The same of the store that is imported by itself.',
      severity: 'error',
      from: { path: '^lib/stores/etcd/index\\.ts$' },
      to: { path: '^lib/stores/etcd/', reachable: false },
    },
    {
      name: 'reachable-from-the-command-line',
      comment: 'The same of the program.',
      severity: 'error',
      from: { path: '^lib/cli/bin\\.ts$' },
      to: { path: '^lib/(cli|stores/redis/doctor)/', reachable: false },
    },
    {
      name: 'command-line-without-nest',
      comment: 'The program runs on machines that have no Nest.',
      severity: 'error',
      from: { path: '^lib/cli/' },
      to: { path: '(^|/)node_modules/@nestjs/|^@nestjs/', reachable: true },
    },
    {
      name: 'etcd-by-itself',
      comment: 'Whoever has no etcd neither installs nor loads anything of it.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/stores/etcd/' },
      to: { path: '^lib/stores/etcd/|(^|/)node_modules/@grpc/' },
    },
    {
      name: 'postgres-by-itself',
      comment: 'Whoever has no PostgreSQL neither installs nor loads anything of it.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/stores/postgres/' },
      to: { path: '^lib/stores/postgres/|(^|/)node_modules/(@types/)?pg/' },
    },
    ...['health', 'prometheus', 'opentelemetry'].map((entry) => ({
      name: `reachable-from-${entry}`,
      comment: 'The same of what is imported by itself.',
      severity: 'error',
      from: { path: `^lib/${entry}/index\\.ts$` },
      to: { path: entry === 'health' ? '^lib/health/' : `^lib/(${entry}|instruments)/`, reachable: false },
    })),
    {
      name: 'health-by-itself',
      comment: 'Whoever has no health check loads nothing of it.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/health/' },
      to: { path: '^lib/health/|(^|/)node_modules/@nestjs/terminus/' },
    },
    {
      name: 'instruments-by-themselves',
      comment: 'The engine knows none of those who measure it: they subscribe to its channels.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/(instruments|prometheus|opentelemetry|dashboard)/' },
      to: { path: '^lib/instruments/' },
    },
    {
      name: 'prometheus-by-itself',
      comment: 'Whoever has no Prometheus neither installs nor loads anything of it.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/prometheus/' },
      to: { path: '^lib/prometheus/|(^|/)node_modules/prom-client/' },
    },
    {
      name: 'opentelemetry-by-itself',
      comment: 'Whoever has no OpenTelemetry neither installs nor loads anything of it.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/opentelemetry/' },
      to: { path: '^lib/opentelemetry/|(^|/)node_modules/@opentelemetry/' },
    },
    {
      name: 'reachable-from-zookeeper',
      comment: 'The same of the store that is imported by itself.',
      severity: 'error',
      from: { path: '^lib/stores/zookeeper/index\\.ts$' },
      to: { path: '^lib/stores/zookeeper/', reachable: false },
    },
    {
      name: 'zookeeper-by-itself',
      comment: 'Whoever has no ZooKeeper loads nothing of it.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/stores/zookeeper/' },
      to: { path: '^lib/stores/zookeeper/' },
    },
    {
      name: 'reachable-from-redisson',
      comment: 'The same of the store that shares the locks of Redisson.',
      severity: 'error',
      from: { path: '^lib/stores/redisson/index\\.ts$' },
      to: { path: '^lib/stores/redisson/', reachable: false },
    },
    {
      name: 'redisson-by-itself',
      comment: 'Whoever has no Java service loads nothing of it.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/stores/redisson/' },
      to: { path: '^lib/stores/redisson/' },
    },
    {
      name: 'reachable-from-dashboard',
      comment: 'The same of the page of locks.',
      severity: 'error',
      from: { path: '^lib/dashboard/index\\.ts$' },
      to: { path: '^lib/dashboard/(?!page/)', reachable: false },
    },
    {
      name: 'reachable-from-page',
      comment: 'The same of its part in the browser, which is bundled.',
      severity: 'error',
      from: { path: '^lib/dashboard/page/main\\.ts$' },
      to: { path: '^lib/dashboard/page/', reachable: false },
    },
    {
      name: 'dashboard-by-itself',
      comment: 'Whoever has no page of locks loads nothing of it.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/dashboard/' },
      to: { path: '^lib/dashboard/|(^|/)node_modules/(preact|htm)/' },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-undeclared-packages',
      comment: 'A user only has the peer dependencies: everything else is missing from his node_modules.',
      severity: 'error',
      // The page in the browser is bundled with what it uses.
      from: { path: '^lib/', pathNot: '^lib/dashboard/page/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm-peer'] },
    },
    {
      name: 'index-is-the-top',
      comment: 'index.ts is for users. Inside, import the file that has the thing.',
      severity: 'error',
      from: {},
      to: { path: ENTRIES },
    },
    ...rooms(),
    {
      name: 'core-without-nest',
      comment: 'The core is shared by both builds, and loads Nest in neither.',
      severity: 'error',
      from: { path: '^lib/', pathNot: NEST_LAYER },
      to: { path: '(^|/)node_modules/@nestjs/|^@nestjs/' },
    },
    {
      name: 'redis-client-in-the-redis-store',
      comment: 'The module options name its types; only the store uses it.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/stores/redis/' },
      to: { path: '(^|/)node_modules/ioredis/', dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    detectProcessBuiltinModuleCalls: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
