/** The build of this folder, and the Nest version that it runs in. */
import 'reflect-metadata';
export { NestFactory } from '@nestjs/core';
export { DistributedLockModule, Locked, LockService } from '../../dist/esm/index.js';
