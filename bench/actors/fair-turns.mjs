/** One of several processes that pass a fair lock around, and that send each other plain messages in the same rhythm. */
import { openApplication } from '../candidates/ours.mjs';
import { connectIoredis } from '../candidates/ioredis-client.mjs';
import { elapse, monotonicMs } from '../harness/clock.mjs';
import { serve } from '../harness/serve.mjs';

/** Long enough for all after-effects of the previous hand-over to end. */
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

  /** Acquires the lock repeatedly. Returns when each hold began and when its release began. */
  async takeTurns(key, turns) {
    const records = [];
    for (let turn = 0; turn < turns; turn++) {
      const lock = await locks.acquire(key, { fair: true, waitTime: 60_000 });
      const from = monotonicMs();
      await elapse(SECTION_MS);
      const to = monotonicMs();
      await lock.release();
      records.push({ pid: process.pid, token: lock.token, from, to });
      // Leaves the processor to the next holder. The other processes are still in the queue.
      await elapse(1);
    }
    return records;
  },

  /** Forwards each message to another process, until all processes together have sent `last` messages. */
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

  /** @returns how long each message to this process took */
  async arrivals() {
    return await arrived;
  },
});
