/**
 * A process that has loaded nothing yet, and loads Nest and ioredis, then this library. Run with --expose-gc for `memory`, which
 * costs no time, and without it for times: collecting garbage would warm up the process.
 */
import { Session } from 'node:inspector';
import { heapUsed } from '../harness/heap.mjs';
import { serve } from '../harness/serve.mjs';

/** What an application loads anyway. */
const PEERS = ['reflect-metadata', 'rxjs', '@nestjs/common', '@nestjs/core', 'ioredis'];
const BUILD = process.env['BENCH_BUILD'] ?? new URL('../candidates/this-build.mjs', import.meta.url).href;

async function loadPeers() {
  for (const name of PEERS) await import(name);
}

async function timed(action) {
  const startedAt = performance.now();
  await action();
  return performance.now() - startedAt;
}

async function bytes() {
  const { used, external } = await heapUsed();
  return used + external;
}

serve({
  /** ms for Nest and ioredis, and ms more for this library. */
  async times() {
    return { peers: await timed(loadPeers), library: await timed(() => import(BUILD)) };
  },

  /** Bytes more for this library. */
  async memory() {
    await loadPeers();
    const peers = await bytes();
    await import(BUILD);
    return { library: (await bytes()) - peers };
  },

  /** The number of modules of this library. */
  async modules() {
    const session = new Session();
    session.connect();
    await loadPeers();
    let modules = 0;
    session.post('Debugger.enable');
    session.on(
      'Debugger.scriptParsed',
      ({ params: { url } }) => (modules += url.startsWith('file:') ? 1 : 0),
    );
    await import(BUILD);
    // Without the file that names what is loaded.
    return modules - 1;
  },
});
