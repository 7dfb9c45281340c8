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
