import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Git sets these variables in hooks. They would override the folder. */
const MISLEADING = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE'];

/** @returns {{ ok: boolean, output: string, error: string }} `ok` is also false if git is not installed */
export function git(args, { cwd = root } = {}) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !MISLEADING.includes(name)));
  const { status, stdout, stderr, error } = spawnSync('git', args, { cwd, env, encoding: 'utf8' });
  return { ok: status === 0, output: (stdout ?? '').trim(), error: error?.message ?? (stderr ?? '').trim() };
}
