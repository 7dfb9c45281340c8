import { afterAll, beforeAll } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for the files of a group of tests, removed after them. */
export class TestFolder {
  private path = '';

  constructor() {
    beforeAll(async () => {
      this.path = await mkdtemp(join(tmpdir(), 'lock-test-'));
    });
    afterAll(() => rm(this.path, { recursive: true }));
  }

  /** Writes a file, and returns its path. */
  async write(name: string, text: string): Promise<string> {
    const file = join(this.path, name);
    await writeFile(file, text);
    return file;
  }
}
