import { Inject } from '@nestjs/common';
import { LockOptionsError } from '../../model/lock.errors.js';
import { getLockServiceToken, importOf } from '../module/lock-service.token.js';
import { HandlerCall } from '../locked/handler-call.js';
import { LockedMethod } from '../locked/locked-method.js';
import {
  resolveLockedOptions,
  type LockedDecorator,
  type LockedOptions,
  type OnBusy,
} from '../locked/locked.options.js';
import { needService } from '../locked/needed-services.js';
import { replaceMethod, returnsObservable } from '../locked/decorated-method.js';

/**
 * Runs a method under a lock: taken before it is called, renewed while it runs, given back before its result is passed
 * on. On a handler that Nest calls, the lock is taken after guards and pipes and kept until the response is ready; on a
 * method that returns an Observable, it is taken for each subscription.
 *
 * Write it above the method, such as `@Locked({ key: (dto: DeductDto) => dto.sku, waitTime: 3_000 })` above
 * `async deduct(dto: DeductDto): Promise<Stock>`.
 *
 * @throws LockOptionsError when the class is defined, for bad options; when the method is called, for a bad key
 */
export function Locked<
  Args extends readonly unknown[] = [],
  This extends object = object,
  Busy extends OnBusy<This> = 'throw',
>(given: string | LockedOptions<Args, This, Busy>): LockedDecorator<Args, This, Busy> {
  return (target, name, descriptor) => {
    const fullName = `${target.constructor.name}.${String(name)}`;
    const where = `@Locked on ${fullName}`;
    const original = descriptor.value;
    if (typeof original !== 'function' || typeof target === 'function') {
      throw new LockOptionsError(
        `${where}: put it on a method of instances; a static method, getter, setter or field can't be locked.`,
      );
    }
    const options = resolveLockedOptions(where, given, fullName);
    const property = servicePropertyOf(options.instance);
    // Nest fills the property when it creates the instance, from the module that the instance belongs to.
    Inject(getLockServiceToken(options.instance))(target, property);
    needService(target, { property, instance: options.instance, where });

    const method = new LockedMethod(where, options, property, original);
    const isStream = options.returns === 'observable' || returnsObservable(target, name, original);
    replaceMethod(descriptor, function (this: object, ...args: unknown[]): unknown {
      const call = HandlerCall.claim(method);
      if (call !== undefined) return method.runInHandler(call, this, args);
      return isStream ? method.stream(this, args) : method.run(this, args);
    });
    HandlerCall.mark(descriptor.value, method);
  };
}

/** Named so that Nest's own error for a missing provider says what to import. */
function servicePropertyOf(instance: string | undefined): symbol {
  return Symbol.for(`LockService: import ${importOf(instance)} into the root module to use @Locked`);
}
