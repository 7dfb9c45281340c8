/** For the tests of applications: `nestjs-distributed-lock/testing`. */
export { FakeLeaderElection } from './fake-leader-election.js';
export { FakeLockService, type LockCall, type RecordedMethod } from './fake-lock-service.js';
export { TestLockStore, type TestLockStoreOptions } from './test-lock-store.js';
export type { TestClock } from './test-clock.js';
// What these return, so that inferred types can be exported.
export type { LockAdmin } from '../api/lock-admin.js';
export type { Leadership } from '../leader/leader-election.js';
export type { LockHandle } from '../model/lock-handle.js';
export type { LockKey } from '../model/lock-key.js';
export type { LockEvent } from '../model/lock.events.js';
export type { LockOptions } from '../model/lock.options.js';
export type { LockStoreSession, LockTimers, MonotonicMs, WallClockMs } from '../stores/port/lock-store.js';
