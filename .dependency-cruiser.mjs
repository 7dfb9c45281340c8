/**
 * The direction of imports. The way of a call is
 *
 *   index → module, decorators, nest → lock.service → engine → stores/lock-store (the port) ← stores/redis, stores/memory, stores/fallback
 *
 * and imports point along it only. The core (all but the Nest layer) knows nothing of Nest: both builds share it, see
 * docs/decisions/0001-two-builds-one-state.md.
 */
/** What users import: the package, and its part for their tests. */
const ENTRIES = '^lib/(testing/)?index\\.ts$';
const NEST_LAYER = '^lib/(index\\.ts$|distributed-lock\\.module\\.ts$|decorators/|nest/)';

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
    {
      name: 'core-without-nest',
      comment: 'The core is shared by both builds, and loads Nest in neither.',
      severity: 'error',
      from: { path: '^lib/', pathNot: NEST_LAYER },
      to: { path: [NEST_LAYER, '(^|/)node_modules/@nestjs/', '^@nestjs/'] },
    },
    {
      name: 'nest-layer-through-the-service',
      comment: 'Decorators and request handling know the service, not what is behind it.',
      severity: 'error',
      from: { path: '^lib/(decorators|nest)/' },
      to: { path: '^lib/(engine|stores/(redis|memory|quorum|fallback))/' },
    },
    {
      name: 'decorators-below-nest',
      comment: 'The module wires everything; nothing that it wires knows it.',
      severity: 'error',
      from: { path: '^lib/(decorators|nest)/' },
      to: { path: '^lib/distributed-lock\\.module\\.ts$' },
    },
    {
      name: 'engine-knows-only-the-port',
      severity: 'error',
      from: { path: '^lib/engine/' },
      to: {
        path: [
          '^lib/stores/(?!(lock-store|answer)\\.ts$)',
          '^lib/lock\\.service\\.ts$',
          '(^|/)node_modules/ioredis/',
        ],
      },
    },
    {
      name: 'stores-implement-the-port',
      comment: 'A store needs the port, errors and collections, and never asks who calls it.',
      severity: 'error',
      from: { path: '^lib/stores/(redis|memory|quorum)/' },
      to: {
        path: '^lib/',
        pathNot: [
          '^lib/stores/$1/',
          '^lib/stores/[^/]+\\.ts$',
          '^lib/collections/',
          '^lib/lock\\.errors\\.ts$',
          '^lib/option-checks\\.ts$',
        ],
      },
    },
    {
      name: 'fallback-on-memory',
      comment: 'It stands between the engine and any store, and knows none of them but the one in memory.',
      severity: 'error',
      from: { path: '^lib/stores/fallback/' },
      to: {
        path: '^lib/',
        pathNot: ['^lib/stores/(fallback|memory)/', '^lib/collections/', '^lib/stores/[^/]+\\.ts$'],
      },
    },
    {
      name: 'testing-is-for-tests',
      comment: 'Nobody else loads what is for the tests of users.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/testing/' },
      to: { path: '^lib/testing/' },
    },
    {
      name: 'port-is-abstract',
      comment: 'The port speaks of owners, leases and grants; no store and no engine shows in it.',
      severity: 'error',
      from: { path: '^lib/stores/lock-store\\.ts$' },
      to: { pathNot: '^lib/lock\\.errors\\.ts$' },
    },
    {
      name: 'collections-stand-alone',
      severity: 'error',
      from: { path: '^lib/collections/' },
      to: { pathNot: '^lib/collections/' },
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
