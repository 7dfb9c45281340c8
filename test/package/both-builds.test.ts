import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import * as exported from '../../lib/index.js';
import * as exportedForTests from '../../lib/testing/index.js';

const run = promisify(execFile);

interface Found {
  readonly loaded: number;
  readonly different: string[];
  readonly testing: string[];
  readonly health: string[];
  readonly leader: string[];
  readonly prometheus: string[];
  readonly opentelemetry: string[];
  readonly fakeIsService: boolean;
  readonly esmWiring: unknown;
  readonly cjsWiring: unknown;
}

/** Jest cannot require an ES module, so that a process of its own loads the two builds. */
describe('one process with both builds', () => {
  let found: Found;

  beforeAll(async () => {
    const { stdout } = await run(process.execPath, [join(import.meta.dirname, 'both-builds.mjs')]);
    found = JSON.parse(stdout) as Found;
    found.different.sort();
  });

  it('has every class, and whatever else has state or identity, once', () => {
    expect(found.loaded).toBe(Object.keys(exported).length);
    // Functions without state, which have to import Nest's own decorators and so exist in each build.
    expect(found.different).toEqual(['InjectLockService', 'Locked']);
  });

  it('has what is for tests once, too, with the classes of the package', () => {
    expect(found.testing).toEqual(Object.keys(exportedForTests));
    expect(found.fakeIsService).toBe(true);
  });

  it('has health checks and instruments once, so that nothing is measured twice', () => {
    expect(found.health).toEqual(['LockHealthIndicator']);
    // Its decorators are functions without state.
    expect(found.leader).toEqual(['LeaderElection', 'LeaderElectionModule']);
    expect(found.prometheus).toEqual(['LockPrometheusModule']);
    expect(found.opentelemetry).toEqual(['LockOpenTelemetryModule']);
  });

  it('shares services and scopes: a hold of one build is re-entered through the other', () => {
    const shared = { sameService: true, entered: 'entered', afterwards: false };
    expect(found.esmWiring).toEqual(shared);
    expect(found.cjsWiring).toEqual(shared);
  });
});
