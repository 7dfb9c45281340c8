/** The build of this folder for measurements that also load single modules of it, which a bundle does not share with them. */
import 'reflect-metadata';
export { NestFactory } from '@nestjs/core';
export { DistributedLockModule, Locked, LockService } from '../../build/cjs/index.js';
