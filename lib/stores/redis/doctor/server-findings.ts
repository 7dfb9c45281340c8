import {
  descriptionOf,
  type CheckedServer,
  type Info,
  type ServerProblem,
} from '../connection/start-check.js';
import { ok, problem, warning, type Finding } from './finding.js';
import { persistenceFinding } from './persistence.js';

/** Of its memory, from which on a server is said to be nearly full. */
const NEARLY_FULL = 0.9;

/** What a server is said to be by `INFO` and by what its user may do. */
export async function serverFindings(
  server: CheckedServer,
  info: Info | undefined,
  problems: readonly ServerProblem[],
): Promise<readonly Finding[]> {
  const rights = foundOr(problems, 'rights', `the user "${server.user}" may do everything that locks need`);
  if (info === undefined) {
    const text =
      'The server does not tell of itself, so that version, role, eviction and persistence are not known. Allow the user INFO.';
    return [rights, warning('version', text)];
  }
  return [
    foundOr(problems, 'version', descriptionOf(info).split(', ')[0] ?? ''),
    foundOr(problems, 'role', roleOf(info)),
    rights,
    foundOr(problems, 'eviction', 'noeviction: locks that are held are not evicted'),
    ...memoryFinding(info),
    await persistenceFinding(server.redis, info),
  ];
}

function foundOr(
  problems: readonly ServerProblem[],
  about: ServerProblem['about'],
  otherwise: string,
): Finding {
  const found = problems.filter((one) => one.about === about).map((one) => one.warning);
  return found.length === 0 ? ok(about, otherwise) : problem(about, found.join(' '));
}

function roleOf(info: Info): string {
  const replicas = Number(info.get('connected_slaves') ?? 0);
  const connected = replicas === 0 ? 'no replica' : `${replicas} ${replicas === 1 ? 'replica' : 'replicas'}`;
  return `primary, with ${connected} connected`;
}

function memoryFinding(info: Info): readonly Finding[] {
  const max = Number(info.get('maxmemory') ?? 0);
  const used = Number(info.get('used_memory') ?? 0);
  if (!(max > 0) || used < max * NEARLY_FULL) return [];
  const share = `${Math.round((used / max) * 100)} % of maxmemory is used`;
  const text = `${share}: when it is full, no lock can be taken (OOM). Raise maxmemory, or keep locks on a server of their own.`;
  return [used >= max ? problem('memory', text) : warning('memory', text)];
}
