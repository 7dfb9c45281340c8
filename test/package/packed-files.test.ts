import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

interface Packed {
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}
interface Manifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly main: string;
  readonly types: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly typesVersions: unknown;
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
const entries = Object.keys(manifest.exports).filter((entry) => entry !== './package.json');

/** All strings in a value of JSON. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

let packed: Packed;
let paths: readonly string[];

beforeAll(() => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'];
  const report = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8' })) as
    Packed[] | Record<string, Packed>;
  [packed] = Object.values(report) as [Packed];
  paths = packed.files.map(({ path }) => path);
});

describe('the packed files', () => {
  it('are few and small', () => {
    expect(paths.length).toBeLessThan(120);
    expect(packed.size).toBeLessThan(500_000);
  });

  it('are the build and what every package has; documentation and sources are in the repository', () => {
    const others = paths.filter((path) => !/^dist\/.*\.(js|d\.ts)$/.test(path));
    expect(others).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'README.zh-CN.md',
      'dist/cjs/package.json',
      'package.json',
    ]);
  });

  it('include everything that package.json names', () => {
    const { bin, main, types, exports, typesVersions } = manifest;
    const named = textsIn({ bin, main, types, exports, typesVersions }).map((path) =>
      path.replace(/^\.\//, ''),
    );
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((path) => !paths.includes(path))).toEqual([]);
  });

  it('have the comments of the declarations, which editors show', () => {
    const textOf = (path: string): string => readFileSync(join(root, path), 'utf8').replaceAll(/\s+/g, ' ');
    const published = paths.filter((path) => path.endsWith('.d.ts')).map(textOf);
    // Everything in these files is public.
    const sources = ['api/lock-admin', 'model/lock-handle', 'model/lock-info', 'model/lock-status'];
    const comments = sources.flatMap((name) => textOf(`lib/${name}.ts`).match(/\/\*\*.*?\*\//g) ?? []);
    expect(comments.length).toBeGreaterThan(50);
    const lacking = comments.filter((comment) => !published.some((text) => text.includes(comment)));
    expect(lacking).toEqual([]);
  });
});

const MAIN = ['base', 'engine', 'memory', 'nest', 'redis'];

/** The parts of the core that a new process loads with an entry. Those with a Nest module are used beside the main entry. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  '.': MAIN,
  './dashboard': [...MAIN, 'dashboard', 'instruments'],
  './etcd': ['base', 'etcd', 'ordered'],
  './health': MAIN,
  './leader': [...MAIN, 'leader'],
  './opentelemetry': [...MAIN, 'instruments', 'opentelemetry'],
  './postgres': ['base', 'postgres'],
  './prometheus': [...MAIN, 'instruments', 'prometheus'],
  './redisson': ['base', 'memory', 'redis', 'redisson'],
  './store': ['base'],
  './testing': ['base', 'engine', 'leader', 'memory', 'testing'],
  './zookeeper': ['base', 'ordered', 'zookeeper'],
};

/** The optional peers that it loads; clients of stores are loaded when a store connects. */
const PEERS: Readonly<Record<string, readonly string[]>> = {
  './opentelemetry': ['@opentelemetry/api'],
  // prom-client loads the other one.
  './prometheus': ['@opentelemetry/api', 'prom-client'],
};

describe('an entry of the package', () => {
  it('imports CommonJS only from small files: Node scans them for the names of their exports', () => {
    const files = paths.filter((path) => /^dist\/esm\/.*\.js$/.test(path));
    const imported = files.flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(/ from '(\.\.\/cjs\/[^']+)'/g)].map(
        ([, path = '']) => join(root, dirname(file), path),
      ),
    );
    expect(imported.length).toBeGreaterThan(10);
    expect(imported.filter((file) => statSync(file).size > 10_000)).toEqual([]);
  });

  async function loadedBy(entry: string): Promise<{ parts: string[]; peers: string[] }> {
    const name = entry.replace('.', 'nestjs-distributed-lock');
    const script = `require(${JSON.stringify(name)}); console.log(JSON.stringify(Object.keys(require.cache)))`;
    const { stdout } = await run(process.execPath, ['--no-warnings', '-e', script], { cwd: root });
    const files = (JSON.parse(stdout) as string[]).map((file) => file.replaceAll('\\', '/'));
    const found = (pattern: RegExp): string[] =>
      [...new Set(files.flatMap((file) => pattern.exec(file)?.[1] ?? []))].sort();
    return {
      parts: found(/\/dist\/cjs\/core\/(\w+)\.js$/),
      peers: found(/\/node_modules\/(ioredis|pg|@grpc\/grpc-js|prom-client|@opentelemetry\/api)\//),
    };
  }

  it.each(entries)('%s loads only what it uses', async (entry) => {
    const [parts = [], peers = []] = [PARTS[entry], PEERS[entry]];
    expect(await loadedBy(entry)).toEqual({ parts: [...parts].sort(), peers });
  });
});
