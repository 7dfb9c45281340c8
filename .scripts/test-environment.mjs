import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { TestEnvironment } = require('jest-environment-node');

/** The storages that the current test file has enabled. */
const enabled = new Set();
const { _enable: enable } = AsyncLocalStorage.prototype;
// Newer versions of Node have neither the method nor the problem.
if (enable !== undefined) {
  AsyncLocalStorage.prototype._enable = function () {
    enabled.add(this);
    enable.call(this);
  };
}

/**
 * Disables the storages of a test file after its tests. Node checks every enabled storage for each new promise. A worker runs
 * many files with separate storages, so tests would become slower from file to file, finally by a quarter.
 */
export default class Environment extends TestEnvironment {
  async teardown() {
    for (const storage of enabled) storage.disable();
    enabled.clear();
    await super.teardown();
  }
}
