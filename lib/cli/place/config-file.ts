import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DistributedLockOptions } from '../../nest/module/distributed-lock.options.js';
import { UsageError } from '../usage-error.js';

/** Imports a module by its URL. */
export type LoadModule = (url: string) => Promise<unknown>;

/** What `forRoot` takes, but says nothing of where locks are, or would take them where nobody else sees them. */
const LEFT_OUT = new Set(['name', 'isGlobal', 'onUnavailable']);

/** The options that a module of the user's exports as `default`: an object, a promise of one, or a function that gives it. */
export async function loadConfig(file: string, load: LoadModule): Promise<DistributedLockOptions> {
  const exported = defaultOf(await imported(file, load));
  const options: unknown = await (typeof exported === 'function' ? called(file, exported) : exported);
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new UsageError(
      `--config ${file}: its default export has to be options as DistributedLockModule.forRoot takes them, or a function that ` +
        "gives them, such as: export default { redis: 'redis://localhost:6379' };",
    );
  }
  const entries = Object.entries(options).filter(([name]) => !LEFT_OUT.has(name));
  const kept = Object.fromEntries(entries) as unknown as DistributedLockOptions; // checked when the store is made of it
  if (kept.store === 'memory') {
    throw new UsageError(
      `--config ${file}: locks of store: 'memory' can be seen only by the process that has them.`,
    );
  }
  return kept;
}

async function imported(file: string, load: LoadModule): Promise<unknown> {
  try {
    return await load(pathToFileURL(resolve(file)).href);
  } catch (error) {
    throw new UsageError(`--config ${file} could not be loaded: ${messageOf(error)}`);
  }
}

async function called(file: string, options: unknown): Promise<unknown> {
  try {
    return await (options as () => unknown)();
  } catch (error) {
    throw new UsageError(`--config ${file}: its function failed: ${messageOf(error)}`);
  }
}

/** Also of a module that a compiler has made CommonJS of. */
function defaultOf(module: unknown): unknown {
  const { default: exported } = module as { readonly default?: unknown };
  const isCompiled =
    typeof exported === 'object' && exported !== null && '__esModule' in exported && 'default' in exported;
  return isCompiled ? exported.default : exported;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
