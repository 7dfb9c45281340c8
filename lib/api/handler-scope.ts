/** What request handling uses of the engine: the scope of a handler call, and the count of calls that shutdown waits for. */
export type { CallsInFlight } from '../engine/scope/calls-in-flight.js';
export { HandlerScope } from '../engine/scope/scope.js';
