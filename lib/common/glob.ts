/** What keys look like that `*` (any characters) and `?` (one) stand for; every other character stands for itself. */
export function globPattern(glob: string): RegExp {
  const parts = Array.from(glob, (character) => {
    if (character === '*') return '[^]*';
    if (character === '?') return '[^]';
    return character.replace(/[\\^$.|+()[\]{}/]/u, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`, 'u');
}

/** The same for Redis, which knows more than these two. */
export function redisPattern(glob: string): string {
  return glob.replace(/[\\[\]]/g, '\\$&');
}

/** A text that stands for itself in a pattern of Redis. */
export function redisLiteral(text: string): string {
  return text.replace(/[\\[\]*?]/g, '\\$&');
}
