import { Injectable, Module, type DynamicModule, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Locked, LockService } from '../../../lib/index.js';
import { LogRecorder } from '../../support/lock-app.js';
import { rejectionOf } from '../../support/until.js';

@Injectable()
export class Counter {
  constructor(readonly locks: LockService) {}

  @Locked({ key: 'count', waitTime: 0 })
  async count(): Promise<string> {
    return Promise.resolve('counted');
  }
}

/** A module of the application that does not import the lock module itself. */
@Module({ providers: [Counter], exports: [Counter] })
export class FeatureModule {}

/** The error that an application with these imports fails to start with. */
export async function failureOf(...imports: (DynamicModule | Type)[]): Promise<Error> {
  const start = Test.createTestingModule({ imports }).setLogger(new LogRecorder()).compile();
  return (await rejectionOf(start)) as Error;
}
