/** For the tests of applications: `nestjs-distributed-lock/testing`. */
export { FakeLeaderElection } from './fake-leader-election.js';
export { FakeLockService, type LockCall, type RecordedMethod } from './fake-lock-service.js';
export { TestLockStore, type TestLockStoreOptions } from './test-lock-store.js';
export type { TestClock } from './test-clock.js';
