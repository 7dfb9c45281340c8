import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * The slowest tests, the slowest first: a slow test that starts late leaves the other processors idle. A fresh clone has no
 * recorded durations, and the size of a file does not indicate its duration.
 */
const LONGEST = [
  /contract\/(zookeeper|etcd|postgres)\.test/,
  /faults\/(zookeeper|etcd)-(faults|crash|cluster)\.test/,
  /browser\/page\.test/,
  /faults\/postgres-(faults|cluster)\.test/,
  /package\/consumers\.test/,
  /contract\/(quorum|redis-.*|random-calls-redis)\.test/,
  /faults\/(redis|process|cluster|sentinel|server)-faults\.test/,
  /faults\/(hand-over|blocked-loop|quorum|out-of-memory)\.test/,
  /integration\/(sample-app|every-store\/.*)\.test/,
  /contract\//,
  /package\/samples\.test/,
  // Its buyers have time-outs, which concurrent npm installations would exceed. So it does not run among the first.
  /integration\/demo\.test/,
];

export default class LongTestsFirst extends Sequencer {
  sort(files) {
    const placeOf = ({ path }) => {
      const place = LONGEST.findIndex((pattern) => pattern.test(path));
      return place < 0 ? LONGEST.length : place;
    };
    // Files of the same place stay in the order of Jest.
    return super.sort(files).sort((one, other) => placeOf(one) - placeOf(other));
  }
}
