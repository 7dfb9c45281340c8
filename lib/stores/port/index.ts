/** The interfaces of a custom store: `nestjs-distributed-lock/store`. */
export * from './lock-store.js';
