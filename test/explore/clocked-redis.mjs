// A real redis-server whose clock the explorer moves, and a connection to it whose requests are synchronous: a run then has
// the same events in the same order each time, as against the model.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';

const SHIM = fileURLToPath(new URL('../support/clock-shim.c', import.meta.url));
const WORKER = new URL('./resp-worker.mjs', import.meta.url);
/** How long the server may take to start, ms. */
const START = 20_000;

/** Where its clock begins. Any time will do, if it has as many digits as the present one. */
export const EPOCH = 1_700_000_000_000;

/** A connection whose requests are synchronous. */
class Connection {
  signal = new Int32Array(new SharedArrayBuffer(4));

  constructor(path) {
    const { port1, port2 } = new MessageChannel();
    this.port = port1;
    const workerData = { path, port: port2, signal: this.signal };
    this.worker = new Worker(WORKER, { workerData, transferList: [port2] });
    this.worker.unref();
  }

  /** Sends commands, and waits for a reply to each; also returns the messages that arrived on channels meanwhile. */
  ask(commands) {
    Atomics.store(this.signal, 0, 0);
    this.port.postMessage(commands);
    // It may be woken by the end of the request before.
    while (Atomics.load(this.signal, 0) === 0) Atomics.wait(this.signal, 0, 0);
    const { replies, messages } = receiveMessageOnPort(this.port).message;
    const failed = replies.find((reply) => reply instanceof Error);
    if (failed !== undefined) throw failed;
    return { replies, messages };
  }
}

export class ClockedRedis {
  connections = [];
  listeners = new Map();
  micros = new BigInt64Array(1);

  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), 'explore-redis-'));
    const shim = join(this.directory, 'clock-shim.so');
    const compiled = spawnSync('cc', ['-O1', '-shared', '-fPIC', '-o', shim, SHIM], { encoding: 'utf8' });
    if (compiled.status !== 0) {
      throw new Error(
        `the clock of a redis-server can be set on Linux with a C compiler: ${compiled.stderr}`,
      );
    }
    const clock = join(this.directory, 'clock');
    writeFileSync(clock, new Uint8Array(16));
    this.clock = openSync(clock, 'r+');
    const path = join(this.directory, 'socket');
    const program = process.env['REDIS_SERVER'] ?? 'redis-server';
    const settings = { port: 0, unixsocket: path, dir: this.directory, save: '', 'jemalloc-bg-thread': 'no' };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const env = { ...process.env, CLOCK_OFFSET_FILE: clock, LD_PRELOAD: shim };
    this.server = spawn(program, args, { stdio: 'ignore', env });
    process.once('exit', () => this.server.kill('SIGKILL'));
    const until = Date.now() + START;
    while (!existsSync(path)) {
      if (Date.now() > until) throw new Error('redis-server did not start');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
    this.path = path;
    this.main = this.connect();
    this.now = EPOCH;
    const [[seconds]] = this.ask([['TIME']]).replies;
    if (Number(seconds) * 1_000 !== EPOCH) throw new Error(`the clock of this ${program} can't be set`);
  }

  /** The clock stands still at this time, ms since the epoch. */
  set now(ms) {
    this.micros[0] = BigInt(ms) * 1_000n;
    writeSync(this.clock, new Uint8Array(this.micros.buffer), 0, 8, 8);
  }

  /** Redis counts the connections that listen on a channel, so each listener has its own. */
  setListening(listener, channel, isListening) {
    let known = this.listeners.get(listener);
    if (known === undefined) {
      known = { connection: this.connect(), channels: new Set() };
      known.connection.ask([['HELLO', '3']]);
      this.listeners.set(listener, known);
    }
    const { connection, channels } = known;
    if (channels.has(channel) === isListening) return;
    connection.ask([[isListening ? 'SUBSCRIBE' : 'UNSUBSCRIBE', channel]]);
    if (isListening) channels.add(channel);
    else channels.delete(channel);
  }

  connect() {
    const connection = new Connection(this.path);
    this.connections.push(connection);
    return connection;
  }

  ask(commands) {
    return this.main.ask(commands);
  }

  async close() {
    for (const { worker } of this.connections) await worker.terminate();
    this.server.kill('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }
}
