import type { DistributedLockOptions } from '../../../lib/index.js';
import { etcdStore } from '../../../lib/stores/etcd/index.js';
import { postgresStore } from '../../../lib/stores/postgres/index.js';
import { redissonStore } from '../../../lib/stores/redisson/index.js';
import { zookeeperStore } from '../../../lib/stores/zookeeper/index.js';

/** The functions that create stores, and their entry points of the package. */
const FACTORIES = {
  postgresStore: { make: postgresStore, entry: 'postgres' },
  etcdStore: { make: etcdStore, entry: 'etcd' },
  redissonStore: { make: redissonStore, entry: 'redisson' },
  zookeeperStore: { make: zookeeperStore, entry: 'zookeeper' },
} as const;

type FactoryName = keyof typeof FACTORIES;

/** How a process reaches a store, as plain data: options of the module or of a store function. */
export type Reach =
  | { readonly module: DistributedLockOptions }
  | {
      [Name in FactoryName]: {
        readonly factory: Name;
        readonly given: Parameters<(typeof FACTORIES)[Name]['make']>[0];
      };
    }[FactoryName];

/** The servers of a replicated store. */
export interface Members {
  /** Stops so few servers that the others can continue. */
  loseSome(): Promise<unknown>;
  /** Stops so many servers that the others can't decide. Undefined if one server is enough. */
  readonly loseMost?: () => Promise<unknown>;
  /** The expected reason after `loseMost`. */
  readonly withoutMost?: RegExp;
  /** Starts all servers again. */
  regain(): Promise<unknown>;
}

/** A store on real servers that the test controls. */
export interface OperatedStore {
  readonly reach: Reach;
  /** The same with a password, at an address without a server. */
  readonly nowhere: Reach;
  /** Whether `doctor` examines each of the servers. */
  readonly isExamined: boolean;
  /** Pauses all servers: connections stay open, without replies. */
  stop(): Promise<unknown>;
  resume(): Promise<unknown>;
  /** Kills all servers. */
  kill(): Promise<unknown>;
  /** Starts them again. */
  restart(): Promise<unknown>;
  readonly members?: Members;
  close(): Promise<unknown>;
}

/** Module options of one more process. */
export function optionsOf(reach: Reach): DistributedLockOptions {
  if ('module' in reach) return reach.module;
  switch (reach.factory) {
    case 'postgresStore':
      return { store: postgresStore(reach.given) };
    case 'etcdStore':
      return { store: etcdStore(reach.given) };
    case 'redissonStore':
      return { store: redissonStore(reach.given) };
    case 'zookeeperStore':
      return { store: zookeeperStore(reach.given) };
  }
}

/** A module for `--config` of the command line, which uses the built package. */
export function configOf(reach: Reach): string {
  if ('module' in reach) return `export default ${JSON.stringify(reach.module)};`;
  const { factory, given } = reach;
  const entry = new URL(`../../../dist/esm/${FACTORIES[factory].entry}.js`, import.meta.url).href;
  return `import { ${factory} } from '${entry}';
    export default { store: ${factory}(${JSON.stringify(given)}) };`;
}
