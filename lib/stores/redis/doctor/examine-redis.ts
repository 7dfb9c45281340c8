import { randomUUID } from 'node:crypto';
import type { ClusterConnector } from '../cluster/cluster-connector.js';
import { ClusterMap } from '../cluster/cluster-map.js';
import {
  redisConnector,
  type RedisConnection,
  type ServerConnector,
} from '../connection/redis-connection.js';
import { ServerConnection } from '../connection/server-connection.js';
import { examineServer, type CheckedServer } from '../connection/start-check.js';
import { notConnected } from '../connection/redis-failure.js';
import { KeyNames } from '../scripts/key-names.js';
import { connectionProblem } from './connection-problem.js';
import { ok, problem, type Finding } from './finding.js';
import { serverFindings } from './server-findings.js';
import { clockFinding, latencyFinding, scanFinding } from './trials.js';

/** How long a server may take for an answer, ms. */
const TIMEOUT = 2_000;

/** What was found at one server. */
export interface ServerReport {
  readonly server: string;
  readonly findings: readonly Finding[];
}

/** Where the locks are in it. */
interface Use {
  readonly names: KeyNames;
  /** How many replicas have to confirm a grant. */
  readonly replicas: number;
  /** Of a cluster: the slot that names are made for. */
  readonly slot: number | undefined;
}

/**
 * Looks at a server, or at every primary of a cluster, with the user's rights: whether it is fit for locks.
 *
 * @param keyPrefix what the names of locks start with
 * @param replicas how many have to confirm a grant; 0 for none
 * @throws LockOptionsError for a connection that can't work
 */
export async function examineRedis(
  connection: RedisConnection,
  keyPrefix: string,
  replicas: number,
): Promise<readonly ServerReport[]> {
  const connector = redisConnector(connection);
  const names = new KeyNames(connector.keyPrefix + keyPrefix, connector.kind === 'cluster');
  if (connector.kind === 'cluster') return await examineCluster(connector, names, replicas);
  return [await examineOne(connector, { names, replicas, slot: undefined })];
}

async function examineCluster(
  connector: ClusterConnector,
  names: KeyNames,
  replicas: number,
): Promise<readonly ServerReport[]> {
  const map = new ClusterMap(connector, TIMEOUT, () => undefined);
  try {
    await map.connect();
    const servers = map.servers();
    if (servers.length === 0) throw new Error('no node of it knows who has the slots');
    return await Promise.all(
      servers.map(({ connector: server, slot }) => examineOne(server, { names, replicas, slot })),
    );
  } catch (error) {
    const failure = notConnected(map.failure ?? (error as Error));
    return [{ server: `Redis Cluster at ${connector.address}`, findings: [connectionProblem(failure)] }];
  } finally {
    map.close();
  }
}

async function examineOne(connector: ServerConnector, use: Use): Promise<ServerReport> {
  const server = `Redis at ${connector.address}`;
  const ignore = (): void => undefined;
  const link = new ServerConnection(connector, TIMEOUT, { back: ignore, lost: ignore });
  const findings: Finding[] = [];
  try {
    const startedAt = performance.now();
    await link.open();
    findings.push(ok('connection', `connected in ${(performance.now() - startedAt).toFixed(0)} ms`));
    findings.push(...(await examine(connector, link, use)));
  } catch (error) {
    // A database that is not there is no reason for ioredis not to connect.
    const failure = link.failureOf(error);
    if (findings.length === 0) findings.push(connectionProblem(failure));
    else
      findings.push(
        problem('connection', `${failure.message}. Look at the log of the server, and try again.`),
      );
  } finally {
    link.close();
  }
  return { server, findings };
}

async function examine(
  connector: ServerConnector,
  link: ServerConnection,
  { names, replicas, slot }: Use,
): Promise<readonly Finding[]> {
  const { redis } = link;
  const client = `doctor-${randomUUID()}`;
  const checked: CheckedServer = {
    redis,
    address: connector.address,
    user: connector.user,
    prefix: names.prefix,
    used: { cluster: slot !== undefined, replicas: replicas > 0, database: connector.database !== 0 },
    replicas,
    channel: names.channels(slot ?? 0) + client,
    trial: names.trial(slot ?? 0, client),
    connect: () => link.another(),
  };
  const { info, problems } = await examineServer(checked);
  return [
    ...(await serverFindings(checked, info, problems)),
    ...(await scanFinding(redis, names, connector.user)),
    ...(await unlessRefused(clockFinding(redis))),
    ...(await unlessRefused(latencyFinding(redis))),
  ];
}

/** What the user may not ask is told among the rights. */
async function unlessRefused(finding: Promise<Finding>): Promise<readonly Finding[]> {
  try {
    return [await finding];
  } catch (error) {
    if ((error as Error).name === 'ReplyError') return [];
    throw error;
  }
}
