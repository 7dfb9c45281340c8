import { Locked, type LockedDecorator } from 'nestjs-distributed-lock';
import { ClsServiceManager } from 'nestjs-cls';

/** One call at a time for each tenant. `keyOf` has the parameters of the method. */
export function LockedByTenant<Args extends readonly unknown[]>(
  keyOf: (...args: Args) => string,
): LockedDecorator<Args> {
  return Locked({ key: (...args: Args) => `tenant:${tenant()}:${keyOf(...args)}`, waitTime: 500 });
}

/** The tenant of the current request, which the middleware of nestjs-cls has stored. */
function tenant(): string {
  const name = ClsServiceManager.getClsService().get<string | undefined>('tenant');
  if (name === undefined)
    throw new Error('This code needs a tenant: call it in a request with the header X-Tenant.');
  return name;
}
