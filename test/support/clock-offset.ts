import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/**
 * By how much the wall clock of another process is off, in a file that this process reads whenever it looks at its
 * clock: a jump is there at once, even in a process that is busy or stopped. See clock-shim.c and clock-shim.mjs.
 */
export class ClockOffset {
  private readonly file: string;
  /** One number for all that is written: a test that controls time writes it with every request. */
  private readonly micros = new BigInt64Array(1);
  private readonly bytes = new Uint8Array(this.micros.buffer);
  private opened: number | undefined;

  constructor(directory: string) {
    this.file = join(directory, 'clock-offset');
    writeFileSync(this.file, new Uint8Array(16));
  }

  /** What the shims need to find it. */
  get env(): Readonly<Record<string, string>> {
    return { CLOCK_OFFSET_FILE: this.file };
  }

  /** Milliseconds to the real clock: positive for the future, 0 to set it right. */
  set(ms: number): void {
    this.write(ms, 0);
  }

  /** The clock stands still at this time, ms. Understood by clock-shim.c only. */
  fix(wall: number): void {
    this.write(wall, 8);
  }

  close(): void {
    if (this.opened !== undefined) closeSync(this.opened);
    this.opened = undefined;
  }

  private write(ms: number, at: number): void {
    // In place: the readers keep the file open.
    this.opened ??= openSync(this.file, 'r+');
    // Microseconds, in the byte order of the machine.
    this.micros[0] = BigInt(Math.round(ms * 1_000));
    writeSync(this.opened, this.bytes, 0, this.bytes.length, at);
  }
}
