import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The offset of another process's wall clock, in a file that the process reads whenever it reads its clock: a jump takes
 * effect immediately, even in a process that is busy or stopped. See clock-shim.c and clock-shim.mjs.
 */
export class ClockOffset {
  private readonly file: string;
  /** One buffer for all writes, since a test that controls time writes with every request. */
  private readonly micros = new BigInt64Array(1);
  private readonly bytes = new Uint8Array(this.micros.buffer);
  private opened: number | undefined;

  constructor(directory: string) {
    this.file = join(directory, 'clock-offset');
    writeFileSync(this.file, new Uint8Array(16));
  }

  /** The environment by which the shims find the file. */
  get env(): Readonly<Record<string, string>> {
    return { CLOCK_OFFSET_FILE: this.file };
  }

  /** Sets the offset from the real clock, ms: positive for the future, 0 for the real time. */
  set(ms: number): void {
    this.write(ms, 0);
  }

  /** Stops the clock at this time, ms. Only clock-shim.c supports it. */
  fix(wall: number): void {
    this.write(wall, 8);
  }

  close(): void {
    if (this.opened !== undefined) closeSync(this.opened);
    this.opened = undefined;
  }

  private write(ms: number, at: number): void {
    // In place, since the readers keep the file open.
    this.opened ??= openSync(this.file, 'r+');
    // Microseconds, in the byte order of the machine.
    this.micros[0] = BigInt(Math.round(ms * 1_000));
    writeSync(this.opened, this.bytes, 0, this.bytes.length, at);
  }
}
