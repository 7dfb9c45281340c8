export { DistributedLockModule, type DistributedLockModuleExtras } from './distributed-lock.module.js';
export type {
  DistributedLockOptions,
  LockHttpOptions,
  QuorumModuleOptions,
  RedisModuleOptions,
  StoreModuleOptions,
} from './distributed-lock.options.js';
export { LockService, type LockedWork } from './lock.service.js';
export { getLockServiceToken } from './lock-service.token.js';
export type { LockHandle, ReleaseOutcome } from './lock-handle.js';
export type { LockHolder, LockInfo, LockProcess, LockWaiter } from './lock-info.js';
export type { LockKey, LockOptions } from './lock.options.js';
export type { LockRetryOptions } from './lock-retry.options.js';
export { exponential, fixed, type Backoff, type ExponentialOptions } from './backoff.js';
export { Locked } from './decorators/locked.decorator.js';
export type { LockedDecorator, LockedOptions, OnBusy } from './locked/locked.options.js';
export { InjectLockService } from './decorators/inject-lock-service.decorator.js';
export {
  LockClosedError,
  LockError,
  LockLostError,
  LockNotHeldError,
  LockOptionsError,
  LockQueueFullError,
  LockTimeoutError,
  LockUnavailableError,
  LockUpgradeError,
  type LockErrorCode,
  type LockLostReason,
} from './lock.errors.js';
export type {
  LockDegradedEvent,
  LockEvent,
  LockGrantedEvent,
  LockLostEvent,
  LockQueueFullEvent,
  LockQueuedEvent,
  LockReleasedEvent,
  LockRenewalFailedEvent,
  LockRenewedEvent,
  LockTimeoutEvent,
  LockUnavailableEvent,
} from './lock.events.js';
export { LockStoreError } from './stores/lock-store.js';
export type {
  AskReply,
  AskRequest,
  Grant,
  LockClock,
  LockStore,
  LockStoreClient,
  LockStoreSession,
  LockTimers,
  MonotonicMs,
  OwnerId,
  OwnerRequest,
  PushedGrant,
  RaiseRequest,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  StoredHold,
  StoredLock,
  StoredWaiter,
  WallClockMs,
} from './stores/lock-store.js';
export { MemoryLockStore } from './stores/memory/memory-lock-store.js';
export type {
  RedisClusterOptions,
  RedisConnection,
  RedisServerOptions,
} from './stores/redis/redis-connection.js';
export type { ReplicaOptions } from './stores/redis/replicas.js';
