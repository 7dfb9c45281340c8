import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { reportsOf } from '../../../.scripts/api-report.mjs';

describe('the API report', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'api-report-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const reportOf = (files: Readonly<Record<string, string>>): string | undefined => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return reportsOf([['index', join(folder, 'index.d.ts')]]).get('index');
  };

  it('has what an entry exports, without comments, and the types that this mentions', () => {
    const report = reportOf({
      'index.d.ts':
        "export { Locks } from './locks.js';\nexport { type Wait as WaitOptions } from './wait.js';\n",
      'locks.d.ts': `import type { Wait } from './wait.js';
        import type { Engine } from './engine.js';
        type Outcome = 'granted' | 'timeout';
        /** Locks. */
        export declare class Locks {
          private readonly engine;
          constructor(engine: Engine);
          /** Acquires a lock. */
          acquire(options: Wait): Outcome;
          private give;
        }`,
      'wait.d.ts': 'export interface Wait {\n  readonly waitTime?: number;\n}\n',
      'engine.d.ts': 'export declare class Engine {\n  run(): void;\n}\n',
    });
    expect(report).toBe(`class Locks {
    constructor(engine: Engine);
    acquire(options: Wait): Outcome;
}

as WaitOptions: interface Wait {
    readonly waitTime?: number;
}

---- not exported, but mentioned above ----

type Outcome = 'granted' | 'timeout';
`);
  });
});
