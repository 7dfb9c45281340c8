/** A proxy on the loopback interface that holds back what passes for a fixed time, in both directions and in order. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { serve } from '../harness/serve.mjs';

/** Timers of Node are whole milliseconds and may be one early or late, so this waits in short naps while something is due. */
const NAP_MS = 0.05;
/** What a nap may take in truth. */
const LONGEST_NAP_MS = 0.2;
/** It takes none for so long after something came: what follows right behind must not be late for that. */
const FOLLOWING_MS = 0.3;
const nap = new Int32Array(new SharedArrayBuffer(4));

let delayMs;
let cameAt;
let ticking = false;
/** What is on its way, oldest first: all are held back for the same time. */
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
  /** For what comes from now on. */
  delay(ms) {
    delayMs = ms;
  },
  /** Nothing is held back at first. @returns the port to connect to */
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
