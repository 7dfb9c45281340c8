/** Whatever a terminal takes for more than text: control and format characters, and separators of lines. */
const UNPRINTABLE = /[\p{C}\u2028\u2029]/gu;

/** Text of others, such as a key, for one line of a terminal: what is not to be seen is escaped. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escaped);
}

/** The same for JSON, which stays the same document. */
export function printableJson(value: unknown): string {
  return printable(JSON.stringify(value));
}

/** A message without the user and password of a URL that may be part of it. */
export function withoutSecrets(message: string): string {
  return message.replace(/:\/\/\S*@/g, '://***@');
}

/** A key as a shell takes it; undefined if it has characters that are not to be seen. */
export function shellWord(key: string): string | undefined {
  if (/^[\w@%+=:,./][\w@%+=:,./-]*$/.test(key)) return key;
  if (key.startsWith('-') || printable(key) !== key) return undefined;
  return `'${key.replaceAll("'", String.raw`'\''`)}'`;
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
