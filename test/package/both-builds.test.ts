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
  readonly store: string[];
  readonly health: string[];
  readonly leader: string[];
  readonly prometheus: string[];
  readonly opentelemetry: string[];
  readonly fakeIsService: boolean;
  readonly esmWiring: unknown;
  readonly cjsWiring: unknown;
}

/** Jest can't require an ES module, so a separate process loads the two builds. */
describe('one process with both builds', () => {
  let found: Found;

  beforeAll(async () => {
    const { stdout } = await run(process.execPath, [join(import.meta.dirname, 'both-builds.mjs')]);
    found = JSON.parse(stdout) as Found;
    found.different.sort();
  });

  it('has every class, and everything else with state or identity, once', () => {
    expect(found.loaded).toBe(Object.keys(exported).length);
    // Stateless functions that import Nest's decorators exist in each build.
    expect(found.different).toEqual(['InjectLockAdmin', 'InjectLockService', 'Locked']);
  });

  it('has the testing entry point once, with the classes of the package', () => {
    expect(found.testing).toEqual(Object.keys(exportedForTests));
    expect(found.fakeIsService).toBe(true);
  });

  it('has the errors of stores once', () => {
    expect(found.store).toEqual(['InvalidCursorError', 'LockStoreError']);
  });

  it('has health checks and instruments once, so that nothing is measured twice', () => {
    expect(found.health).toEqual(['LockHealthIndicator', 'LockHealthModule']);
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
