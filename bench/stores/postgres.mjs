import { PostgresStats } from './postgres-stats.mjs';
import { startPrivatePostgres } from './private-postgres.mjs';

export const title = 'PostgreSQL';
export const candidates = ['postgres-floor', 'postgres-ours', 'postgres-advisory'];
/** M1 against the floor, M4 against the best peer. */
export const goals = { free: 0.8, fourProcesses: 5 };
export const costs = [
  ['requests/hold', 'requests'],
  ['writes/hold', 'writes'],
  ['WAL kB/hold', 'walKilobytes'],
];

/** Starts a server with default settings: a commit is on disk before the reply. */
export async function openServer(programs) {
  const server = await startPrivatePostgres(programs);
  const stats = await PostgresStats.open(server);
  return { url: server.url, stats, stop: () => server.stop() };
}
