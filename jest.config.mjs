/** @type {import('jest').Config} */
export default {
  rootDir: import.meta.dirname,
  setupFiles: ['<rootDir>/.scripts/require-in-tests.mjs'],
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  // Imports are written as they will run ('./thing.js'); here the same file may still be TypeScript.
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': ['$1.js', '$1.ts'],
    // Another version, for `npm run matrix`.
    ...(process.env.IOREDIS && { '^ioredis$': process.env.IOREDIS }),
  },
  modulePathIgnorePatterns: [
    '<rootDir>/dist/',
    '<rootDir>/build/',
    '<rootDir>/sample-app/',
    '<rootDir>/examples/',
  ],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        sourceMaps: 'inline',
        module: { type: 'es6' },
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true, explicitResourceManagement: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true },
          keepClassNames: true,
        },
      },
    ],
  },
  reporters: ['default', '<rootDir>/.scripts/totals-reporter.mjs'],
  testSequencer: '<rootDir>/.scripts/long-tests-first.mjs',
  // Most tests wait for processes and sockets, so that there may be more of them than processors.
  maxWorkers: 4,
  // Modules of a test stay in the memory of its worker, and garbage collection then takes more time than the tests.
  workerIdleMemoryLimit: '600MB',
  // What hangs hangs for good, and the bounds of tests are theirs: this one only has to be more than a busy machine takes.
  testTimeout: 300_000,
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
};
