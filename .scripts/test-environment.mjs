import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { TestEnvironment } = require('jest-environment-node');

/** The storages that the file under test has put to use. */
const enabled = new Set();
const { _enable: enable } = AsyncLocalStorage.prototype;
// Newer versions of Node have neither the method nor the list.
if (enable !== undefined) {
  AsyncLocalStorage.prototype._enable = function () {
    enabled.add(this);
    enable.call(this);
  };
}

/**
 * Node has each new promise look at every storage that was ever used in the process. A worker runs many files, each with
 * storages of its own, so that all tests would become slower from file to file: by a quarter in the end.
 */
export default class Environment extends TestEnvironment {
  async teardown() {
    for (const storage of enabled) storage.disable();
    enabled.clear();
    await super.teardown();
  }
}
