import { enginePlants } from './plants/engine.mjs';
import { leaderPlants } from './plants/leader.mjs';
import { etcdPlants, zookeeperPlants } from './plants/ordered.mjs';
import { postgresPlants } from './plants/postgres.mjs';
import { redisPlants } from './plants/redis.mjs';

/**
 * Bugs that the checker must find; otherwise its silence would mean nothing. Each is a change of a few words in a copy of
 * the build, in a file, or in a folder where the file does not matter. It must be found as one of `finds`; `run` makes it
 * show soon. By store, and those of leader election. A change is `[place, from, to]`, or `[place, change]`.
 */
const PLANTS = {
  redis: { ...redisPlants, ...enginePlants },
  'one-address': enginePlants,
  sentinel: enginePlants,
  cluster: enginePlants,
  quorum: enginePlants,
  postgres: { ...postgresPlants, ...enginePlants },
  etcd: { ...etcdPlants, ...enginePlants },
  zookeeper: { ...zookeeperPlants, ...enginePlants },
  leader: leaderPlants,
};

/** @param {string} of a store, or `leader` */
export const plantNames = (of) => Object.keys(PLANTS[of]);

/** The bug can't be planted: the build has changed, and the plant must be updated. */
export class PlantError extends Error {
  name = 'PlantError';
}

/**
 * @param {string} of a store, or `leader`
 * @param {string} name
 * @returns {{ about: string, finds: string[], run: { only?: string[], options?: object, rules?: object },
 *   into: (build: ReturnType<typeof import('./build-copy.mjs').copyBuild>) => void }}
 */
export function plantOf(of, name) {
  const { about, finds, changes, run = {} } = PLANTS[of][name];
  const into = (build) => {
    for (const [place, from, to] of changes) {
      const change = typeof from === 'function' ? from : (source) => source.replace(from, to);
      const files = place.endsWith('/') ? build.filesIn(place) : [place];
      let isPlanted = false;
      for (const file of files) {
        const source = build.read(file);
        const changed = source === undefined ? source : change(source);
        if (changed === source) continue;
        build.write(file, changed);
        isPlanted = true;
      }
      if (!isPlanted) {
        throw new PlantError(
          `The bug "${name}" can't be planted: the code that it changes in ${place} is no longer in the build. Update test/soak/plants/.`,
        );
      }
    }
  };
  return { about, finds, run, into };
}
