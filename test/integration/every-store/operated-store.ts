import type { DistributedLockOptions } from '../../../lib/index.js';
import { etcdStore } from '../../../lib/stores/etcd/index.js';
import { postgresStore } from '../../../lib/stores/postgres/index.js';
import { zookeeperStore } from '../../../lib/stores/zookeeper/index.js';

/** The functions that make stores, and the entries of the package that have them. */
const FACTORIES = {
  postgresStore: { make: postgresStore, entry: 'stores/postgres' },
  etcdStore: { make: etcdStore, entry: 'stores/etcd' },
  zookeeperStore: { make: zookeeperStore, entry: 'stores/zookeeper' },
} as const;

type FactoryName = keyof typeof FACTORIES;

/** How a process reaches a store, as plain data: options of the module, or of the function that makes the store. */
export type Reach =
  | { readonly module: DistributedLockOptions }
  | {
      [Name in FactoryName]: {
        readonly factory: Name;
        readonly given: Parameters<(typeof FACTORIES)[Name]['make']>[0];
      };
    }[FactoryName];

/** Members of a store that decide together, or stand in for each other. */
export interface Members {
  /** So few go that the others do without them. */
  loseSome(): Promise<unknown>;
  /** So many go that the others can't decide; left out where one of them is enough. */
  readonly loseMost?: () => Promise<unknown>;
  /** What is said then. */
  readonly withoutMost?: RegExp;
  /** All are there again. */
  regain(): Promise<unknown>;
}

/** A store on real servers of the test's own, which somebody has to operate. */
export interface OperatedStore {
  readonly reach: Reach;
  /** The same, with a password in it, where nobody listens. */
  readonly nowhere: Reach;
  /** Whether `doctor` looks at each of the servers. */
  readonly isExamined: boolean;
  /** All servers stand still: connections stay open, nothing is answered. */
  stop(): Promise<unknown>;
  resume(): Promise<unknown>;
  /** All servers are gone. */
  kill(): Promise<unknown>;
  /** They are there again. */
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
    case 'zookeeperStore':
      return { store: zookeeperStore(reach.given) };
  }
}

/** A module for `--config` of the command line, which uses the package as it is built. */
export function configOf(reach: Reach): string {
  if ('module' in reach) return `export default ${JSON.stringify(reach.module)};`;
  const { factory, given } = reach;
  const entry = new URL(`../../../dist/esm/${FACTORIES[factory].entry}/index.js`, import.meta.url).href;
  return `import { ${factory} } from '${entry}';
    export default { store: ${factory}(${JSON.stringify(given)}) };`;
}
