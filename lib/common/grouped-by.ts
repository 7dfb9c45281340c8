/** The items by their names, in order. */
export function groupedBy<T, Name>(items: Iterable<T>, nameOf: (item: T) => Name): Map<Name, T[]> {
  const groups = new Map<Name, T[]>();
  for (const item of items) {
    const name = nameOf(item);
    const others = groups.get(name);
    if (others === undefined) groups.set(name, [item]);
    else others.push(item);
  }
  return groups;
}
