/** Calls a method decorated with `@Locked`, and the same method through `withLock`. */
import { Locked, openApplication } from '../candidates/ours.mjs';
import { serve } from '../harness/serve.mjs';

const KEY = 'decorated';

/** Decorated by hand, as a compiler does it: Node does not support decorator syntax. */
class Account {
  async plain() {
    return 1;
  }

  async locked() {
    return 1;
  }
}
const descriptor = Object.getOwnPropertyDescriptor(Account.prototype, 'locked');
Reflect.defineMetadata('design:type', Function, Account.prototype, 'locked');
Reflect.defineMetadata('design:paramtypes', [], Account.prototype, 'locked');
Reflect.defineMetadata('design:returntype', Promise, Account.prototype, 'locked');
Locked(KEY)(Account.prototype, 'locked', descriptor);
Object.defineProperty(Account.prototype, 'locked', descriptor);

let account;
let locks;

async function microsecondsEach(calls, call) {
  const started = performance.now();
  for (let i = 0; i < calls; i++) await call();
  return ((performance.now() - started) * 1_000) / calls;
}

serve({
  async open(moduleOptions) {
    const application = await openApplication(moduleOptions, [Account]);
    locks = application.locks;
    account = application.app.get(Account);
  },

  /** µs per call, in alternating blocks. */
  async run(blocks, calls) {
    const samples = { decorated: [], direct: [] };
    for (let block = 0; block < blocks; block++) {
      samples.decorated.push(await microsecondsEach(calls, () => account.locked()));
      samples.direct.push(await microsecondsEach(calls, () => locks.withLock(KEY, () => account.plain())));
    }
    return samples;
  },
});
