import * as util from 'node:util';
import { printable, printableJson, withoutSecrets } from './printable.js';

/** A stream of the process, as far as it is used. */
export interface OutputStream {
  readonly isTTY?: boolean | undefined;
  hasColors?(): boolean;
  write(text: string, written?: (error?: Error | null) => void): boolean;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
}

type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red';

/** Where a command writes: results go to the one stream, everything else to the other. */
export class Output {
  /** Whether nobody reads results any more, as at the end of a pipe. That is no error. */
  isClosed = false;
  /** Why results could not be written. */
  failure: Error | undefined;

  private readonly colours: boolean;

  /** @param json whether results and errors are JSON, a document in a line */
  constructor(
    private readonly results: OutputStream,
    private readonly messages: OutputStream,
    readonly json: boolean,
  ) {
    results.on('error', (error) => {
      // Whatever is written later fails, too.
      if (!this.isClosed && error.code !== 'EPIPE') this.failure = error;
      this.isClosed = true;
    });
    messages.on('error', () => undefined); // there is nowhere left to say so
    this.colours = !json && results.isTTY === true && results.hasColors?.() === true;
  }

  /** Lines of the result for people. What comes from others in them has to be printable. */
  lines(...lines: readonly string[]): void {
    if (!this.isClosed) this.results.write(lines.map((line) => `${line.trimEnd()}\n`).join(''));
  }

  /** The result, or an item of it, as JSON. */
  document(value: unknown): void {
    this.lines(printableJson(value));
  }

  /** Something to know that is not the result; nothing with `json`. */
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

  /** Coloured where a terminal wants that, and Node can. */
  styled(style: Style, text: string): string {
    // Node 20.0 to 20.11 has no styleText.
    const { styleText } = util as Partial<typeof util>;
    return this.colours && styleText !== undefined ? styleText(style, text) : text;
  }

  /** Resolves when all is written or can't be. */
  async flushed(): Promise<void> {
    await Promise.all([written(this.results), written(this.messages)]);
  }
}

function written(stream: OutputStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => {
      resolve();
    });
  });
}
