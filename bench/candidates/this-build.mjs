/** The package as it was built here, and the Nest that it runs in. */
import 'reflect-metadata';
export { NestFactory } from '@nestjs/core';
export { DistributedLockModule, Locked, LockService } from '../../dist/esm/index.js';
