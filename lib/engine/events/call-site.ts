/** Where code called a method of the service. */
export interface CallSite {
  /** Left out where it is not captured. */
  readonly stack?: string;
}

/** How many calls are kept, that of the method itself included: the innermost one outside may be a helper of the application. */
const FRAMES = 5;

const UNKNOWN: CallSite = {};

/**
 * Where the method was called that calls this; its text is made only when it is read. Call it before anything is awaited,
 * while the caller is on the stack.
 */
export function callSite(isWanted: boolean): CallSite {
  if (!isWanted) return UNKNOWN;
  const { stackTraceLimit } = Error;
  const site: CallSite = {};
  Error.stackTraceLimit = FRAMES;
  Error.captureStackTrace(site, callSite);
  Error.stackTraceLimit = stackTraceLimit;
  return site;
}

/** The calls outside of the method, innermost first, such as `at Orders.ship (/app/orders.js:12:30)`. */
export function callsOf({ stack = '' }: CallSite): readonly string[] {
  const [, , ...calls] = stack.split('\n');
  return calls.map((line) => line.trim());
}
