/** How many may hold a lock at once, by the number with which scripts say it. */
export function limitOf(word: number): number {
  return word === 0 ? Infinity : word;
}
