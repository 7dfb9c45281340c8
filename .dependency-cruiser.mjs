/**
 * The rooms of the library, and which others each may look into. docs/architecture.md draws the picture. Imports point one
 * way only: down this list. The core (all but `nest`) knows nothing of Nest: both builds share it, see
 * docs/decisions/0001-two-builds-one-state.md.
 */
const ROOMS = {
  'index\\.ts$': ['nest', 'api', 'model', 'stores'],
  'testing/': ['testing', 'api', 'engine', 'stores/(port|memory)', 'model', 'common'],
  // The module wires everything; nothing that it wires knows it.
  'nest/module/': ['nest', 'api', 'engine', 'stores', 'model', 'common'],
  // Decorators and request handling know the service, not what is behind it.
  // `locked` binds a call to the locks it holds.
  'nest/locked/': [
    'nest/(decorators|locked|requests)',
    'nest/module/(lock-service\\.token|one-per-process|stand-ins)',
    'api',
    'engine/(scope|hold)',
    'model',
    'common',
  ],
  'nest/(decorators|requests)/': [
    'nest/(decorators|locked|requests)',
    'nest/module/(lock-service\\.token|one-per-process|stand-ins)',
    'api',
    'model',
    'common',
  ],
  'api/': ['api', 'engine', 'stores/port', 'model', 'common'],
  // The engine knows the port and no store.
  'engine/': ['engine', 'stores/port', 'model', 'common'],
  // A store needs the port, errors and collections, and never asks who calls it.
  'stores/redis/': ['stores/(redis|port)', 'model', 'common'],
  'stores/memory/': ['stores/(memory|port)', 'model', 'common'],
  'stores/quorum/': ['stores/(quorum|port)', 'model', 'common'],
  // It stands between the engine and any store, and knows none of them but the one in memory.
  'stores/fallback/': ['stores/(fallback|memory|port)', 'model', 'common'],
  'model/': ['model', 'stores/port', 'common'],
  // The port speaks of owners, leases and grants; no store and no engine shows in it.
  'stores/port/': ['stores/port', 'common'],
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

/** What users import: the package, and its part for their tests. */
const ENTRIES = '^lib/(testing/)?index\\.ts$';
const NEST_LAYER = '^lib/(index\\.ts$|nest/)';

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-circular',
      comment:
        'Modules that load each other are one module or hide a third one. Types may refer to each other.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
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
      to: { path: '^lib/(?!testing/)', reachable: false },
    },
    {
      name: 'reachable-from-testing',
      comment: 'The same of the part for tests.',
      severity: 'error',
      from: { path: '^lib/testing/index\\.ts$' },
      to: { path: '^lib/testing/', reachable: false },
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
      from: { path: '^lib/' },
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
