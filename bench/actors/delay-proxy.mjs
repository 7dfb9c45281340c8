/** A proxy on the loopback interface that delays all data by a fixed time, in both directions and in order. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { serve } from '../harness/serve.mjs';

/** Node timers have millisecond resolution and may be off by one, so the proxy sleeps in short naps while data is pending. */
const NAP_MS = 0.05;
/** Upper bound of the real duration of a nap. */
const LONGEST_NAP_MS = 0.2;
/** No naps for this long after data has arrived: data that follows immediately must not be late. */
const FOLLOWING_MS = 0.3;
const nap = new Int32Array(new SharedArrayBuffer(4));

let delayMs;
let cameAt;
let ticking = false;
/** Delayed chunks, the oldest first. All have the same delay. */
const held = [];

function pass(from, to) {
  from.on('data', (chunk) => holdBack(() => to.write(chunk)));
  from.on('close', () => holdBack(() => to.destroy()));
  from.on('error', () => undefined);
}

function holdBack(send) {
  cameAt = performance.now();
  held.push({ send, dueAt: cameAt + delayMs });
  if (ticking) return;
  ticking = true;
  setImmediate(tick);
}

function tick() {
  const now = performance.now();
  while (held.length > 0 && held[0].dueAt <= now) held.shift().send();
  ticking = held.length > 0;
  if (!ticking) return;
  if (now - cameAt > FOLLOWING_MS && held[0].dueAt - now > LONGEST_NAP_MS) Atomics.wait(nap, 0, 0, NAP_MS);
  setImmediate(tick);
}

serve({
  /** Sets the delay of all later data. */
  delay(ms) {
    delayMs = ms;
  },
  /** Starts without a delay. @returns the port to connect to */
  async open(target) {
    delayMs = 0;
    const server = createServer((client) => {
      const upstream = connect(target, '127.0.0.1');
      for (const socket of [client, upstream]) socket.setNoDelay(true);
      pass(client, upstream);
      pass(upstream, client);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return server.address().port;
  },
});
