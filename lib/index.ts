export {
  DistributedLockModule,
  type DistributedLockAsyncOptions,
  type DistributedLockModuleExtras,
} from './nest/module/distributed-lock.module.js';
export type {
  DistributedLockOptions,
  LockHttpOptions,
  LockRpcOptions,
  QuorumModuleOptions,
  RedisModuleOptions,
  StoreModuleOptions,
} from './nest/module/distributed-lock.options.js';
export { currentLock } from './api/current-lock.js';
export { LockAdmin } from './api/lock-admin.js';
export { LockService, type LockedWork } from './api/lock.service.js';
export { getLockAdminToken, getLockServiceToken } from './nest/module/lock-service.injection.js';
export type { LockHandle, ReleaseOutcome } from './model/lock-handle.js';
export type {
  LockHolder,
  LockInfo,
  LockList,
  LockListOptions,
  LockPermits,
  LockProcess,
  LockWaiter,
} from './model/lock-info.js';
export type { LockBreakOptions, LockBreakOutcome } from './model/inspect.options.js';
export type {
  HeldLock,
  LockStatus,
  LostLock,
  StoreConnection,
  StoreStatus,
  WaitingCall,
} from './model/lock-status.js';
export type {
  AcquireOutcome,
  AcquireTrace,
  HoldTrace,
  LockEventMessage,
  StoreRequestKind,
  StoreRequestMessage,
} from './model/lock-channels.js';
export type { LockKey } from './model/lock-key.js';
export type { LockKind } from './model/lock-kind.js';
export type { LockOptions } from './model/lock.options.js';
export {
  backoff,
  type Backoff,
  type ExponentialOptions,
  type LockRetryOptions,
} from './model/lock-retry.options.js';
export { InjectLockAdmin, InjectLockService, Locked } from './nest/decorators.js';
export type { LockedDecorator, LockedOptions, OnBusy } from './nest/locked/locked.options.js';
export {
  LockClosedError,
  LockConflictError,
  LockError,
  LockLostError,
  LockNotHeldError,
  LockOptionsError,
  LockQueueFullError,
  LockTimeoutError,
  type LockTimeoutHolder,
  LockUnavailableError,
  LockUnsupportedError,
  LockUpgradeError,
  type LockErrorBody,
  type LockErrorCode,
  type LockLostReason,
} from './model/lock.errors.js';
export type {
  LockAbortedEvent,
  LockClosedEvent,
  LockLocalEvent,
  LockEvent,
  LockGrantedEvent,
  LockLostEvent,
  LockQueueFullEvent,
  LockQueuedEvent,
  LockBrokenEvent,
  LockReleasedEvent,
  LockRenewalFailedEvent,
  LockRenewedEvent,
  LockSkippedEvent,
  LockTimeoutEvent,
  LockUnavailableEvent,
  StoreAvailableEvent,
  StoreUnavailableEvent,
} from './model/lock.events.js';
export type { LockStore, LockStoreError, LockStoreSession } from './stores/port/lock-store.js';
export { MemoryLockStore } from './stores/memory/memory-lock-store.js';
export type {
  RedisClusterOptions,
  RedisConnection,
  RedisServerOptions,
} from './stores/redis/connection/redis-connection.js';
export type { ReplicaOptions } from './stores/redis/replicas.js';
