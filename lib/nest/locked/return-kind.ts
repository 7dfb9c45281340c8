import 'reflect-metadata';
import { Observable } from 'rxjs';

/** Whether a method is declared to return an Observable, by the metadata that the compiler emits for it. */
export function returnsObservable(target: object, name: string | symbol, method: object): boolean {
  if (method.constructor.name === 'AsyncFunction') return false;
  const type: unknown = Reflect.getMetadata('design:returntype', target, name);
  if (typeof type !== 'function') return false;
  // By name, too: the declared class may come from another copy of rxjs.
  for (let kind: unknown = type; typeof kind === 'function'; kind = Object.getPrototypeOf(kind)) {
    if (kind === Observable || kind.name === 'Observable') return true;
  }
  return false;
}
