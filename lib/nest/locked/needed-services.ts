import 'reflect-metadata';
import type { LockService } from '../../api/lock.service.js';

/** What a locked method needs on its object: the service of a module instance, under a property. */
interface NeededService {
  readonly property: symbol;
  /** The name of the module instance. */
  readonly instance: string | undefined;
  /** Which method it is, for messages. */
  readonly where: string;
}

const NEEDED = Symbol.for('nestjs-distributed-lock:needed-services');
const NONE: readonly NeededService[] = [];

/** Of objects that take no property, as frozen ones. */
const services = new WeakMap<object, Map<symbol, LockService>>();

/** Says what the methods of a class need. */
export function needService(prototype: object, needed: NeededService): void {
  Reflect.defineMetadata(NEEDED, [...ownNeeds(prototype), needed], prototype);
}

/** What the methods of an object need, those that it inherits included. */
export function neededServices(object: object): readonly NeededService[] {
  const needs: NeededService[] = [];
  for (let link: unknown = object; isObject(link); link = prototypeOf(link)) needs.push(...ownNeeds(link));
  return needs;
}

/** For objects that Nest does not create, and so does not fill. An object may go from one application to the next. */
export function giveService(object: object, property: symbol, service: LockService): void {
  // Not enumerable: nobody who copies or prints the object should meet it.
  const given = { value: service, enumerable: false, configurable: true, writable: true };
  if (Reflect.defineProperty(object, property, given)) return;
  const ofObject = services.get(object) ?? new Map<symbol, LockService>();
  services.set(object, ofObject.set(property, service));
}

/** The service that Nest or {@link giveService} gave an object. */
export function serviceUnder(object: object, property: symbol): LockService | undefined {
  return (object as Partial<Record<symbol, LockService>>)[property] ?? services.get(object)?.get(property);
}

function ownNeeds(object: object): readonly NeededService[] {
  return (Reflect.getOwnMetadata(NEEDED, object) as readonly NeededService[] | undefined) ?? NONE;
}

/** None of a proxy that lets nobody look. */
function prototypeOf(object: object): unknown {
  try {
    return Object.getPrototypeOf(object) as unknown;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
