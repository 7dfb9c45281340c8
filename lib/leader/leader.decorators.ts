import 'reflect-metadata';
import { Inject } from '@nestjs/common';
import { LockOptionsError } from '../model/lock.errors.js';
import { shown } from '../model/option-checks.js';
import type { Leadership, RevokedEvent } from './leader-election.js';

/** The injection token of an election. */
export function getLeaderElectionToken(name: string): string {
  if (typeof name !== 'string' || name === '') {
    throw new LockOptionsError(`The name of an election must be a non-empty string; got ${shown(name)}.`);
  }
  return `LeaderElection: import LeaderElectionModule.forFeature('${name}')`;
}

/** Injects the `LeaderElection` with this name. */
export function InjectLeaderElection(name: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLeaderElectionToken(name));
}

/** A method that an election calls. */
export interface ElectionMethod {
  readonly election: string;
  readonly event: 'elected' | 'revoked';
  readonly method: string | symbol;
}

/** The method and its decorator, for messages. */
export function placeOf({ election, event, method }: ElectionMethod, owner: string): string {
  return `${event === 'elected' ? '@OnElected' : '@OnRevoked'}('${election}') on ${owner}.${String(method)}`;
}

/** Named so that Nest's error for an application without an election says what to import. */
export const ELECTIONS = 'LeaderElectionModule.forFeature(name), imported into the application';

/** The elections of an application, which Nest sets on every object of a class with such methods. */
interface ElectionsOfApp {
  /** Nest has created the object. */
  created(object: object): void;
}

/** Lets the start of an application without an election fail, and tells of objects that are created after the start. */
const elections = Symbol('import LeaderElectionModule.forFeature(name) to use @OnElected and @OnRevoked');

const METHODS = Symbol.for('nestjs-distributed-lock:election-methods');

type MethodOf<Argument> = <Method extends (argument: Argument) => unknown>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/**
 * Calls the method each time this process becomes the leader. It may run for as long as the process leads; it has to end
 * when the `signal` of its argument is aborted, since the next leader waits for that after `resign()` and at shutdown.
 */
export function OnElected(election: string): MethodOf<Leadership> {
  return record<Leadership>(election, 'elected');
}

/** Calls the method each time this process is no longer the leader. */
export function OnRevoked(election: string): MethodOf<RevokedEvent> {
  return record<RevokedEvent>(election, 'revoked');
}

function record<Argument>(election: string, event: ElectionMethod['event']): MethodOf<Argument> {
  getLeaderElectionToken(election);
  return (target, method) => {
    // An overridden method is called once.
    const others = electionMethodsOf(target).filter(
      (each) => each.method !== method || each.event !== event || each.election !== election,
    );
    Reflect.defineMetadata(METHODS, [...others, { election, event, method }], target);
    Inject(ELECTIONS)(target, elections);
    Object.defineProperty(target, elections, {
      configurable: true,
      set(this: object, ofApp: ElectionsOfApp) {
        ofApp.created(this);
      },
    });
  };
}

/** The methods of an object that elections call, including inherited ones. */
export function electionMethodsOf(object: object): readonly ElectionMethod[] {
  return (Reflect.getMetadata(METHODS, object) ?? []) as readonly ElectionMethod[];
}
