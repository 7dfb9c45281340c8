import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const templates = join(import.meta.dirname, 'consumers');
const MINUTE = 60_000;

/** What npm and Jest leave in the environment of their children would lead an npm or Jest inside them astray. */
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
    // The message of execFile holds stderr only; compilers and test runners say on stdout what is wrong.
    const stdout = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}`, { cause: error });
  }
}

/** The tarball as it would be published, in a folder of its own. */
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

/** An application outside of the repository that has installed the tarball. */
export class Consumer {
  private constructor(
    readonly name: string,
    readonly folder: string,
    /** Where npm has put what the applications that were installed together share; the application's own if it is alone. */
    private readonly root: string,
  ) {}

  /**
   * Copies `consumers/<name>` and the sources that all consumers share, and installs what they depend on. Those that are
   * named together are workspaces of one folder: they have the same version of Nest and ioredis, which is then unpacked
   * once. Leaves nothing behind when the packages cannot be installed.
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

  /** Writes a source file of its own. */
  async write(name: string, text: string): Promise<void> {
    await writeFile(join(this.folder, 'src', name), text);
  }

  /** Runs a program that one of its dependencies brings. */
  async tool(name: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    return execute(this.folder, join(this.root, 'node_modules/.bin', name), args, env);
  }

  /** Runs its code on a plain Node, and returns what it printed. */
  async node(script: string, env: NodeJS.ProcessEnv, cwd = this.folder): Promise<string> {
    return execute(cwd, process.execPath, [script], env);
  }

  /** With those that were installed together with it. */
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
