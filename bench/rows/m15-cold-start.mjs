import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Actor } from '../harness/actor.mjs';
import { median } from '../harness/statistics.mjs';
import { atMost, information } from '../report/checks.mjs';
import { percent, short } from '../report/numbers.mjs';
import { freshGauge } from './gauges.mjs';

export const id = 'M15';
export const title = 'cold start: import of the main entry after Nest and ioredis; the package';

const [KB, MB] = [1_000, 1_000_000];

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Loads everything in a new process. */
async function start(what, build) {
  const actor = new Actor('cold-start.mjs', { build, execArgv: what === 'memory' ? ['--expose-gc'] : [] });
  try {
    return await actor.call(what);
  } finally {
    await actor.kill();
  }
}

export const gauges = [
  freshGauge({
    what: 'import after Nest and ioredis',
    unit: 'ms',
    better: 'less',
    sample: async (_context, build) => (await start('times', build)).library,
  }),
];

/** The tarball as it would be published. */
function packed() {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'];
  const report = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8' }));
  const [{ size, files }] = Object.values(report);
  return { size, files: files.length };
}

export async function run({ quick, progress }) {
  const rounds = quick ? 3 : 15;
  const samples = { times: [], memory: [] };
  // The first start reads files that are not in the cache of the system yet.
  await start('times');
  for (let round = 1; round <= rounds; round++) {
    for (const what of ['times', 'memory']) samples[what].push(await start(what));
    const { peers, library } = samples.times.at(-1);
    progress(id, `round ${round}/${rounds}  ${short(library)} ms after ${short(peers)} ms`);
  }
  const modules = await start('modules');
  const { size, files } = packed();
  const of = (what) => median(samples[what].map(({ library }) => library));
  // Within a process, so that other load on the machine affects both.
  const share = median(samples.times.map(({ peers, library }) => library / peers));
  return {
    checks: [
      atMost('time of the import ÷ that of Nest and ioredis', share, 0.12, {
        measured: percent(share),
      }),
      information('time of the import, ms', short(of('times'))),
      atMost('MB more', of('memory') / MB, 5),
      information('modules of the package that are loaded', short(modules)),
      atMost('files in the package', files, 120),
      atMost('KB packed', size / KB, 500),
    ],
  };
}
