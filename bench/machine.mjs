import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { git } from './against/git.mjs';
import { installedVersion } from './candidates/installed-version.mjs';

/** The relevant facts about the machine, without its name. */
export function describeMachine(redisVersion) {
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 1_024 ** 3),
    system: `${distribution()}${type()} ${release()}`,
    node: process.version,
    redis: redisVersion,
    ioredis: installedVersion('ioredis'),
  };
}

function distribution() {
  try {
    const name = /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'));
    return name ? `${name[1]}, ` : '';
  } catch {
    return '';
  }
}

/** The measured commit, marked if the library has uncommitted changes; undefined outside of a repository. */
export function measuredCommit() {
  const { ok, output } = git(['rev-parse', '--short=12', 'HEAD']);
  if (!ok) return undefined;
  const changed = git(['status', '--porcelain', '--', 'lib', 'lua']).output !== '';
  return `${output}${changed ? ' with changes' : ''}`;
}
