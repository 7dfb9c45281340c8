/** Resolves when all of these have, where undefined stands for one that has; undefined when all have. */
export function allSent(pending: Iterable<Promise<unknown> | undefined>): Promise<unknown> | undefined {
  const open = [...pending].filter((sent) => sent !== undefined);
  return open.length === 0 ? undefined : Promise.all(open);
}
