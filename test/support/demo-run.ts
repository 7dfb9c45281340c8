import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import { Leftovers } from '../../.scripts/applications/leftovers.mjs';
import { prepareSampleApp } from '../../.scripts/applications/sample-app.mjs';
import { until, within } from './until.js';

const demoScript = fileURLToPath(new URL('../../sample-app/demo/demo.mjs', import.meta.url));
/** In memory if possible: a disk that is busy after an npm install takes seconds for each sale. */
const SCRATCH = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
/** Shorter than the test timeout, so that a failure shows the output of the demo. */
const PATIENCE_MS = 290_000;

interface DemoRun {
  readonly child: ChildProcess;
  /** Resolves with the exit code. */
  readonly ended: () => Promise<number | null>;
  readonly output: () => string;
  readonly printed: (text: string) => Promise<unknown>;
}

/** Runs of `npm run demo` in the tests of a group. */
export class Demos {
  /** Temporary files of the demo. Its processes are found by this path, which they inherit in their environment. */
  scratch = '';

  constructor(place = SCRATCH) {
    const leftovers = new Leftovers();
    beforeAll(() => prepareSampleApp({ leftovers, log: () => undefined }));
    afterAll(() => leftovers.remove());
    beforeEach(() => {
      this.scratch = mkdtempSync(join(place, 'demo-test-'));
      // PostgreSQL runs as its own user.
      chmodSync(this.scratch, 0o755);
    });
    afterEach(() => {
      for (const pid of processesWith(this.scratch)) process.kill(pid, 'SIGKILL');
      rmSync(this.scratch, { recursive: true, force: true });
    });
  }

  start(args: readonly string[], env: Record<string, string> = {}): DemoRun {
    // Without the URL of the user's server.
    const { REDIS_URL: _, ...inherited } = process.env;
    const environment = { ...inherited, TMPDIR: this.scratch, ...env };
    const child = spawn(process.execPath, [demoScript, ...args], { env: environment });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const ended = once(child, 'close').then(([code]) => code as number | null);
    return {
      child,
      ended: () => within(PATIENCE_MS, `the end of the demo:\n${output}`, ended),
      output: () => output,
      printed: (text) =>
        until(`the demo prints "${text}"`, () => output.includes(text), { deadline: PATIENCE_MS }),
    };
  }

  expectNothingLeft(): void {
    expect(processesWith(this.scratch)).toEqual([]);
    expect(readdirSync(this.scratch)).toEqual([]);
  }
}

type Row = Record<string, number>;

/** The rows of the printed table by name, with numbers without units. */
export function readTable(output: string): Record<string, Row> {
  const lines = output.split('\n');
  const head = lines.findIndex((line) => /^\s+sold\s+left/.test(line));
  const titles = lines[head]!.trim().split(/\s{2,}/);
  const rows: Record<string, Row> = {};
  for (const line of lines.slice(head + 1, head + 3)) {
    const [name, ...cells] = line.split(/\s{2,}/);
    rows[name!] = {};
    titles.forEach((title, column) => (rows[name!]![title] = Number.parseInt(cells[column]!, 10)));
  }
  return rows;
}

/** The ids of all processes with `mark` in their environment, which children inherit even if their parent changes. */
function processesWith(mark: string): number[] {
  if (process.platform !== 'linux') {
    const list = execFileSync('ps', ['-AwwE', '-o', 'pid=,command='], { encoding: 'utf8' }).split('\n');
    return list.filter((line) => line.includes(mark)).map((line) => Number.parseInt(line, 10));
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark);
      } catch {
        // It has exited meanwhile.
        return false;
      }
    });
}
