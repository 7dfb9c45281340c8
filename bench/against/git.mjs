import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Where a repository looks for others when it is asked from inside a hook; here the folder alone decides. */
const MISLEADING = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE'];

/**
 * @param {string[]} args
 * @param {{ cwd?: string }} [options]
 * @returns {{ ok: boolean, output: string, error: string }} not ok also where there is no git
 */
export function git(args, { cwd = root } = {}) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !MISLEADING.includes(name)));
  const { status, stdout, stderr, error } = spawnSync('git', args, { cwd, env, encoding: 'utf8' });
  return { ok: status === 0, output: (stdout ?? '').trim(), error: error?.message ?? (stderr ?? '').trim() };
}
