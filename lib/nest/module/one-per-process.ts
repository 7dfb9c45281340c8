const classes = new Map<string, unknown>();

/**
 * Class decorator. In a process that loads both builds of this package, as ES modules and as CommonJS, both get the class
 * that was loaded first, so that it works with `instanceof` and as an injection token. This file is part of the core, which
 * both builds share.
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
