const classes = new Map<string, unknown>();

/**
 * Class decorator. A process that loads both builds of this package, as ES modules and as CommonJS, gets the class that
 * was loaded first from both, so that it is the same for `instanceof` and as an injection token. This module itself is
 * part of the one core that both builds share.
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
