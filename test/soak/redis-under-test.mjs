import { once } from 'node:events';
import { createServer } from 'node:net';
import { randomInt } from 'node:crypto';
import { setTimeout as elapse } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { end, spawnTied } from './lifeline.mjs';

/** The Redis server of a run, on a free port of the loopback interface, without persistence. */
export class RedisUnderTest {
  #program;
  #directory;
  #process;
  port = 0;
  /** For faults and for looking; its own connection, past all proxies. @type {Redis} */
  admin;

  constructor(program, directory) {
    this.#program = program;
    this.#directory = directory;
  }

  async start() {
    for (let attempt = 1; ; attempt++) {
      this.port = await freePort();
      if (await this.#launch()) break;
      if (attempt === 20) throw new Error('redis-server did not start on any of 20 free ports');
    }
    this.admin = new Redis({ port: this.port, retryStrategy: () => 50, maxRetriesPerRequest: null });
    this.admin.on('error', () => undefined); // it reconnects; some of the faults are meant for it, too
    await this.admin.ping();
  }

  get url() {
    return `redis://127.0.0.1:${this.port}`;
  }

  stop() {
    this.#process.kill('SIGSTOP');
  }

  resume() {
    this.#process.kill('SIGCONT');
  }

  /**
   * Kills the server and starts an empty one on the same port.
   *
   * @returns {Promise<number>} the last fencing token that the old server gave out
   */
  async restart() {
    // Nothing is written between the look at the counter and the end.
    await this.admin.client('PAUSE', 10_000, 'WRITE');
    const fence = await this.fence();
    await end(this.#process);
    for (let attempt = 1; !(await this.#launch()); attempt++) {
      if (attempt === 100) throw new Error(`redis-server did not come back on port ${this.port}`);
      await elapse(50);
    }
    return fence;
  }

  /** The largest fencing token given out so far; 0 before the first. */
  async fence() {
    return Number((await this.admin.get('lock:@:fence')) ?? 0);
  }

  async close() {
    this.admin?.disconnect();
    if (this.#process) await end(this.#process);
  }

  /** @returns {Promise<boolean>} false when somebody else took the port */
  async #launch() {
    const settings = { port: this.port, bind: '127.0.0.1', dir: this.#directory, save: '', appendonly: 'no' };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const server = spawnTied(this.#program, args, {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#process = server;
    const exited = once(server, 'exit').then(() => false);
    const ready = (async () => {
      for await (const text of server.stdout)
        if (`${text}`.includes('Ready to accept connections')) return true;
      return false;
    })();
    const started = await Promise.race([exited, ready]);
    server.stdout.resume();
    return started;
  }
}

/** Below the ports that the system gives to outgoing connections: it has to be bound again after a restart. */
async function freePort() {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    const probe = createServer();
    const free = await new Promise((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
}
