import * as util from 'node:util';

/** The part of a process's stream that is used here. */
export interface OutputStream {
  readonly isTTY?: boolean | undefined;
  hasColors?(): boolean;
  write(text: string, written?: (error?: Error | null) => void): boolean;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
}

type Style = 'bold' | 'green' | 'yellow' | 'red';

/** Writes results to one stream and everything else to the other. */
export class Output {
  /** Whether the reader of the results has closed them, such as `head` at the end of a pipe. That is not an error. */
  isClosed = false;
  /** Why results could not be written. */
  failure: Error | undefined;

  private readonly colours: boolean;

  /** @param json whether results and errors are JSON, one document per line */
  constructor(
    private readonly results: OutputStream,
    private readonly messages: OutputStream,
    readonly json: boolean,
  ) {
    results.on('error', (error) => {
      // Keeps the first error: all later writes fail, too.
      if (!this.isClosed && error.code !== 'EPIPE') this.failure = error;
      this.isClosed = true;
    });
    messages.on('error', () => undefined); // there is no stream left to report it on
    this.colours = !json && results.isTTY === true && results.hasColors?.() === true;
  }

  /** Writes lines of the result for people. The caller escapes untrusted text with {@link printable}. */
  lines(...lines: readonly string[]): void {
    if (!this.isClosed) this.results.write(lines.map((line) => `${line.trimEnd()}\n`).join(''));
  }

  /** Writes the result, or one item of it, as JSON. */
  document(value: unknown): void {
    this.lines(printableJson(value));
  }

  /** Writes a message that is not part of the result; nothing with `json`. */
  notice(message: string): void {
    if (!this.json) this.messages.write(`${printable(message)}\n`);
  }

  error(error: { readonly code: string; readonly message: string; readonly exitCode: number }): void {
    const { code, exitCode } = error;
    const message = withoutSecrets(error.message);
    const text = this.json
      ? printableJson({ error: { code, message, exitCode } })
      : `nestjs-distributed-lock: ${printable(message)}`;
    this.messages.write(`${text}\n`);
  }

  /** Colours text if the output is a terminal with colours. */
  styled(style: Style, text: string): string {
    // Node 20.0 to 20.11 has no styleText.
    const { styleText } = util as Partial<typeof util>;
    return this.colours && styleText !== undefined ? styleText(style, text) : text;
  }

  /** Resolves when everything is written, or can't be. */
  async flushed(): Promise<void> {
    await Promise.all([written(this.results), written(this.messages)]);
  }
}

function written(stream: OutputStream): Promise<void> {
  return new Promise((resolve) => void stream.write('', () => resolve()));
}

/** Aligns the columns of rows; the first row is the head. */
export function tableOf(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  }
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
}

/** Control and format characters and line separators, which could control the terminal. */
const UNPRINTABLE = /[\p{C}\u2028\u2029]/gu;

/** Escapes invisible characters in untrusted text, such as a key, for one line of a terminal. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
  });
}

/** {@link printable} JSON, which parses to the same value. */
export function printableJson(value: unknown): string {
  return printable(JSON.stringify(value));
}

/** Removes user and password from URLs in a message. */
export function withoutSecrets(message: string): string {
  return message.replace(/:\/\/\S*@/g, '://***@');
}

/** Quotes text for a shell; undefined if it starts with `-` or contains invisible characters. */
export function shellWord(text: string): string | undefined {
  if (/^[\w@%+=:,./][\w@%+=:,./-]*$/.test(text)) return text;
  if (text.startsWith('-') || printable(text) !== text) return undefined;
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
