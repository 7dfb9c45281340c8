import type { Redis } from 'ioredis';
import type { Info } from '../connection/start-check.js';
import { ok, problem, warning, type Finding } from './finding.js';

const CHECK = 'persistence';
const REMEDY =
  'Two processes may then hold the same lock for a moment. Set `appendonly yes` and `appendfsync always`, or let what is guarded check fencing tokens.';

/** What a restart of the server leaves of locks that are held. */
export async function persistenceFinding(redis: Redis, info: Info): Promise<Finding> {
  const failed = failedWrites(info);
  if (failed !== undefined) {
    const text = `${failed}, so that it refuses to write (MISCONF). Look at its log and its disk.`;
    return problem(CHECK, text);
  }
  if (info.get('aof_enabled') === '1') return appendOnly(await setting(redis, 'appendfsync'));
  const save = await setting(redis, 'save');
  if (save === '') return warning(CHECK, `It keeps nothing on disk: a restart forgets all locks. ${REMEDY}`);
  const how = save === undefined ? 'It has no append-only file' : `It writes snapshots only (save ${save})`;
  return warning(CHECK, `${how}: a restart forgets the locks since the last snapshot. ${REMEDY}`);
}

function appendOnly(fsync: string | undefined): Finding {
  if (fsync === 'always') return ok(CHECK, 'appendonly yes, appendfsync always: a restart keeps every lock');
  if (fsync === undefined) {
    return ok(CHECK, 'appendonly yes; how often it is written to disk is not told (CONFIG is not allowed)');
  }
  const lost = fsync === 'everysec' ? 'up to a second of locks' : 'locks that the system has not written yet';
  return warning(
    CHECK,
    `appendonly yes, appendfsync ${fsync}: a crash of its machine forgets ${lost}. ${REMEDY}`,
  );
}

function failedWrites(info: Info): string | undefined {
  if (info.get('aof_enabled') === '1' && info.get('aof_last_write_status') === 'err') {
    return 'It could not write its append-only file';
  }
  return undefined;
}

/** Undefined where the user may not ask. */
async function setting(redis: Redis, name: string): Promise<string | undefined> {
  try {
    const reply: unknown = await redis.config('GET', name);
    const value: unknown = Array.isArray(reply) ? reply[1] : undefined;
    return typeof value === 'string' ? value : undefined;
  } catch (error) {
    if ((error as Error).name === 'ReplyError') return undefined;
    throw error;
  }
}
