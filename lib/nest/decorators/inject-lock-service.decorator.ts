import { Inject } from '@nestjs/common';
import { getLockServiceToken } from '../module/lock-service.token.js';

/** Injects the `LockService` of the module instance with that `name`; of the one without a name if it is left out. */
export function InjectLockService(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLockServiceToken(name));
}
