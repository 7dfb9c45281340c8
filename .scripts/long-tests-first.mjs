import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const { default: Sequencer } = require('@jest/test-sequencer');

const tests = fileURLToPath(new URL('../test/', import.meta.url));

/**
 * The slowest tests, the slowest first: a slow test that starts late leaves the other processors idle. A fresh clone has no
 * recorded durations, and the size of a file does not indicate its duration. Tests that compute and tests that wait
 * alternate, so that they run beside each other.
 */
const LONGEST = [
  'contract/zookeeper',
  'contract/etcd',
  'contract/postgres',
  'faults/zookeeper-faults',
  'faults/etcd-faults',
  'faults/zookeeper-crash',
  'faults/zookeeper-cluster',
  'browser/page',
  'faults/postgres-faults',
  'faults/etcd-cluster',
  'faults/postgres-cluster',
  'package/consumers',
  'contract/quorum',
  'contract/redis-40ms',
  'faults/redis-faults',
  'faults/process-faults',
  'contract/redis-replicas',
  'faults/hand-over',
  'contract/redis-cluster',
  'contract/random-calls-redis',
  'faults/cluster-faults',
  'contract/redis-10ms',
  'contract/redis-sentinel',
  'integration/every-store/sentinel',
  'faults/sentinel-faults',
  'integration/sample-app',
  'faults/server-faults',
  'faults/blocked-loop',
  'contract/redis',
  'faults/quorum',
  'integration/every-store/cluster',
  'faults/out-of-memory',
  'faults/unavailable-local',
  'contract/fallback',
  'integration/every-store/quorum',
  'contract/memory',
  'integration/every-store/redis',
  'package/samples',
  // Its buyers have time-outs, which concurrent npm installations would exceed. So it does not run among the first.
  'integration/demo',
].map((name) => `${tests}${name}.test.ts`);

export default class LongTestsFirst extends Sequencer {
  sort(files) {
    const gone = LONGEST.filter((path) => !existsSync(path));
    if (gone.length > 0) throw new Error(`these tests do not exist: ${gone.join(', ')}`);
    const sorted = super.sort(files);
    const long = LONGEST.flatMap((path) => sorted.filter((file) => file.path === path));
    return [...long, ...sorted.filter((file) => !long.includes(file))];
  }
}
