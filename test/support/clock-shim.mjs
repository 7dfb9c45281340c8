// Preloaded with `node --import`: shifts the wall clock of this process by the number of microseconds in the file that
// CLOCK_OFFSET_FILE names, which may change at any time. `performance.now()` and timers are unaffected.
import { openSync, readSync } from 'node:fs';

const file = openSync(process.env['CLOCK_OFFSET_FILE'], 'r');
const offset = new BigInt64Array(1);
const bytes = new Uint8Array(offset.buffer);
const RealDate = Date;
const realNow = Date.now;

function now() {
  readSync(file, bytes, 0, bytes.length, 0);
  return realNow() + Math.round(Number(offset[0]) / 1_000);
}

RealDate.now = now;
globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (target, args, newTarget) => Reflect.construct(target, args.length ? args : [now()], newTarget),
});
RealDate.prototype.constructor = globalThis.Date;
