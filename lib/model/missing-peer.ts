import { LockOptionsError } from './lock.errors.js';

/**
 * Throws why an optional peer dependency could not be loaded, and how to install it.
 *
 * Load it with a literal `require('…')` in a `try` block, when it is first needed: bundlers then include the package,
 * and only warn if it is not installed. `import()` would need an asynchronous start.
 *
 * @param error the error that `require` threw
 */
export function refuseMissingPeer(where: string, name: string, error: unknown): never {
  const [reason = ''] = (error as Error).message.split('\n');
  // The package itself, not one of its dependencies. Yarn has its own message.
  const isMissing =
    (error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND' &&
    (reason.includes(`'${name}'`) || reason.includes(`access ${name} `));
  if (!isMissing) throw error as Error;
  throw new LockOptionsError(
    `${where}: the package ${name} is not installed. Install it: npm install ${name}`,
  );
}
