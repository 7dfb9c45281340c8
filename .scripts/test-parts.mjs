import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../test/', import.meta.url));

/**
 * The parts of the tests, each with patterns of its files. `npm test` runs `core`: what the library promises, on memory and one
 * Redis, in about two minutes. `npm run test:all` runs the others. A file that matches no pattern belongs to `redis`.
 */
export const PARTS = {
  core: {
    files: [
      'test/unit/',
      'test/contract/(documented-store|every-store|memory|random-calls|redis).test.ts',
      'test/faults/(blocked-loop|commands|every-store|network-faults|process-faults).test.ts',
      'test/faults/(re-entry|reconnect|redis-faults|server-faults|shutdown-under-load).test.ts',
      'test/integration/(sample-app|way-of-a-call).test.ts',
      'test/integration/command-line/lock.test.ts',
      'test/integration/compatibility/http.test.ts',
      'test/integration/nest/(ended-pipelines|locked-methods|module).test.ts',
      'test/package/command-line.test.ts',
    ],
  },
  redis: {
    files: [],
  },
  stores: {
    files: [
      'test/contract/(postgres|etcd|zookeeper).test.ts',
      'test/faults/(postgres|etcd|zookeeper)-[a-z-]+.test.ts',
      'test/faults/(advice|health|restored-snapshots).test.ts',
      'test/integration/every-store/(postgres|etcd|zookeeper).test.ts',
      'test/integration/command-line/doctor-postgres.test.ts',
      'test/integration/(store-demos|moving-stores|promtool).test.ts',
      'test/integration/stored-format/(etcd|postgres|zookeeper).test.ts',
      'test/browser/[a-z-]+.test.ts',
      'test/interop/[a-z-]+.test.ts',
    ],
  },
  package: {
    files: ['test/package/(consumers|agents).test.ts'],
  },
  examples: {
    files: ['test/examples/[a-z0-9-]+.test.ts'],
  },
  site: {
    files: ['test/site/[a-z-]+.test.ts'],
  },
};

/**
 * The arguments of Jest that select the tests of a part.
 *
 * @param {string} part
 * @returns {string[]}
 */
export function selection(part) {
  if (part !== 'redis') return PARTS[part].files;
  const others = Object.values(PARTS).flatMap(({ files }) => files);
  return others.map((pattern) => `--testPathIgnorePatterns=${pattern}`);
}

/** @returns {string[]} every test file, from the root of the project */
export const testFiles = () =>
  readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/${name}`)
    .sort();
