/** A message of another program, which may end with a full stop, as a sentence. */
export function sentenceOf(message: string): string {
  return message.replace(/\.?$/, '.');
}
