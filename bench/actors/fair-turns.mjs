/** One of the processes that hand a fair lock round, and that send each other bare messages in the same rhythm. */
import { openApplication } from '../candidates/ours.mjs';
import { connectIoredis } from '../candidates/ioredis-client.mjs';
import { elapse, monotonicMs } from '../harness/clock.mjs';
import { serve } from '../harness/serve.mjs';

/** Long enough for everything that the hand-over before caused to be over. */
const SECTION_MS = 3;
const PROCESSES = 4;

let locks;
let publisher;
let received;
let send;
let arrived;

serve({
  async open(url) {
    ({ locks } = await openApplication({ redis: url }));
    publisher = await connectIoredis(url);
    const subscriber = await connectIoredis(url);
    await subscriber.subscribe(`bench:${process.pid}`);
    subscriber.on('message', (_channel, message) => received?.(monotonicMs(), message));
    return process.pid;
  },

  /** Takes the lock again and again: when it ran, and when it gave the lock back. */
  async takeTurns(key, turns) {
    const records = [];
    for (let turn = 0; turn < turns; turn++) {
      const lock = await locks.acquire(key, { fair: true, waitTime: 60_000 });
      const from = monotonicMs();
      await elapse(SECTION_MS);
      const to = monotonicMs();
      await lock.release();
      records.push({ pid: process.pid, token: lock.token, from, to });
      // Not in the way of the one who has the lock now; the others still stand in the queue.
      await elapse(1);
    }
    return records;
  },

  /** Passes each message on to another process, until `last` of them were sent by all processes together. */
  listen(nextPid, last) {
    const times = [];
    send = async (number) => {
      await elapse(SECTION_MS);
      await publisher.publish(`bench:${nextPid}`, `${number} ${monotonicMs()}`);
    };
    arrived = new Promise((resolve, reject) => {
      received = (now, message) => {
        const [number, sentAt] = message.split(' ').map(Number);
        times.push(now - sentAt);
        if (number < last) send(number + 1).catch(reject);
        if (number + PROCESSES > last) resolve(times);
      };
    });
  },

  async sendFirst() {
    await send(1);
  },

  /** @returns how long each message took to arrive here */
  async arrivals() {
    return await arrived;
  },
});
