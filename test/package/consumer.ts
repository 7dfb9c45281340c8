import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const templates = join(import.meta.dirname, 'consumers');
const MINUTE = 60_000;

/** Without the variables of npm and Jest, which would confuse an npm or Jest that runs inside. */
function freshEnvironment(): NodeJS.ProcessEnv {
  const foreign =
    /^(npm_(package|lifecycle|command|execpath|config_local_prefix)|JEST_|NODE_(ENV|OPTIONS|PATH)$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

async function execute(
  cwd: string,
  program: string,
  args: string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  try {
    const options = { cwd, env: { ...freshEnvironment(), ...env }, timeout: 3 * MINUTE, maxBuffer: 16 << 20 };
    const { stdout } = await run(program, args, options);
    return stdout;
  } catch (error) {
    // The message of execFile contains stderr only; compilers and test runners report errors on stdout.
    const stdout = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}`, { cause: error });
  }
}

/** The tarball as it would be published, in its own folder. */
export class PackedPackage {
  private constructor(
    readonly tarball: string,
    private readonly folder: string,
  ) {}

  static async pack(): Promise<PackedPackage> {
    const folder = await mkdtemp(join(tmpdir(), 'lock-package-'));
    const args = ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', folder];
    const output = await execute(root, 'npm', args);
    const name = output.trim().split('\n').at(-1) ?? '';
    return new PackedPackage(join(folder, name), folder);
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** An application outside of the repository with the tarball installed. */
export class Consumer {
  private constructor(
    readonly name: string,
    readonly folder: string,
    /** The folder of the packages that applications installed together have in common. */
    private readonly root: string,
  ) {}

  /**
   * Copies `consumers/<name>` and the shared sources, and installs their dependencies. Consumers named together are
   workspaces of one folder: they have the same versions of Nest and ioredis, which npm then unpacks once. Leaves nothing
   behind when the packages can't be installed.
   */
  static async install(names: readonly string[], packed: PackedPackage): Promise<Consumer[]> {
    const root = await mkdtemp(join(tmpdir(), `lock-consumer-${names.join('-')}-`));
    try {
      const isAlone = names.length === 1;
      const folderOf = (name: string): string => (isAlone ? root : join(root, name));
      for (const name of names) await fill(folderOf(name), name, packed);
      if (!isAlone)
        await writeFile(join(root, 'package.json'), JSON.stringify({ private: true, workspaces: names }));
      const quiet = ['--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
      await execute(root, 'npm', ['install', '--prefer-offline', '--ignore-scripts', ...quiet]);
      return names.map((name) => new Consumer(name, folderOf(name), root));
    } catch (error) {
      await rm(root, { recursive: true, force: true });
      throw error;
    }
  }

  /** Writes a source file of the application. */
  async write(name: string, text: string): Promise<void> {
    await writeFile(join(this.folder, 'src', name), text);
  }

  /** Runs a program of one of its dependencies. */
  async tool(name: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    return execute(this.folder, join(this.root, 'node_modules/.bin', name), args, env);
  }

  /** Runs a script of the application with Node, and returns its output. */
  async node(script: string, env: NodeJS.ProcessEnv, cwd = this.folder): Promise<string> {
    return execute(cwd, process.execPath, [script], env);
  }

  /** Also removes the applications that were installed together with it. */
  async remove(): Promise<void> {
    await rm(this.root, { recursive: true, force: true });
  }
}

async function fill(folder: string, name: string, { tarball }: PackedPackage): Promise<void> {
  await cp(join(templates, 'shared'), join(folder, 'src'), { recursive: true });
  await cp(join(templates, name), folder, { recursive: true });
  const manifestFile = join(folder, 'package.json');
  const manifest = JSON.parse(await readFile(manifestFile, 'utf8')) as {
    dependencies: Record<string, string>;
  };
  manifest.dependencies['nestjs-distributed-lock'] = `file:${tarball}`;
  await writeFile(manifestFile, JSON.stringify({ name, version: '0.0.0', ...manifest }));
}
