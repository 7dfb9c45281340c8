const classes = new Map<string, unknown>();

/**
 * Class decorator for a process that loads both builds of this package, ES modules and CommonJS: both use the class
 * that was loaded first, so that `instanceof` and injection tokens work. This file is part of the core, which both
 * builds share.
 */
export function onePerProcess(name: string) {
  return <T>(target: T): T => {
    const first = classes.get(name);
    // The classes of both builds come from the same source.
    if (first !== undefined) return first as T;
    classes.set(name, target);
    return target;
  };
}

const COPIES = Symbol.for('nestjs-distributed-lock:copies');

/**
 * Warns when a second copy of the package is loaded, as in a monorepo whose package manager has installed it twice.
 * `@Locked` of one copy does not find the module of the other, and Nest's error then asks for an import that is there.
 */
function warnOfCopies(file: string): void {
  const shared = globalThis as unknown as Partial<Record<symbol, Set<string>>>;
  const copies = (shared[COPIES] ??= new Set());
  const [other] = copies;
  if (other !== undefined && !copies.has(file)) {
    process.emitWarning(
      `Two copies of nestjs-distributed-lock are loaded: ${other} and ${file}. @Locked and LockService of one do not find the ` +
        'DistributedLockModule of the other. Install the package once for all workspaces, such as by `npm dedupe`, or as a peer dependency.',
      'NestjsDistributedLock',
    );
  }
  copies.add(file);
}

// Tests load the sources, which have no such name.
if (typeof __filename === 'string') warnOfCopies(__filename);
