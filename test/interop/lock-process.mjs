import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { end, spawnTied } from '../soak/lifeline.mjs';

const JAVA = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmx256m', '-Dslf4j.internal.verbosity=ERROR'];
const NODE_CLIENT = fileURLToPath(new URL('node-client.mjs', import.meta.url));

/** A process that uses locks as told line by line: LockClient.java or node-client.mjs, which describe the lines. */
export class LockProcess {
  #child;
  #replies = new Map();
  #lastRequest = 0;
  #hasEnded = false;

  constructor(child) {
    this.#child = child;
  }

  /**
   * @param {string} classPath of LockClient.java
   * @param {readonly string[]} addresses one server, or nodes of a Redis Cluster
   */
  static java(classPath, addresses, watchdogTimeout = 30_000) {
    const args = [...JAVA, '-cp', classPath, 'LockClient', `${watchdogTimeout}`, ...addresses];
    return LockProcess.#start('java', args);
  }

  /** @param {readonly string[]} addresses */
  static node(addresses, watchdogTimeout = 30_000) {
    return LockProcess.#start(process.execPath, [NODE_CLIENT, `${watchdogTimeout}`, ...addresses]);
  }

  static async #start(command, args) {
    const child = spawnTied(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
    child.stdin.on('error', () => undefined);
    const process = new LockProcess(child);
    const lines = createInterface(child.stdout);
    const [first] = await Promise.race([once(lines, 'line'), once(child, 'exit')]);
    if (first !== 'ready') throw new Error(`${command} did not start: ${first}`);
    lines.on('line', (line) => process.#onLine(line));
    child.once('exit', () => process.#onExit());
    return process;
  }

  /** Runs a command in a thread of the process; resolves with its result. */
  async ask(thread, command, name, ...args) {
    if (this.#hasEnded) throw new Error(`${command}: the process ended`);
    const request = ++this.#lastRequest;
    const replied = new Promise((resolve, reject) => {
      this.#replies.set(`${request}`, { resolve, reject, command });
    });
    this.#child.stdin.write(`${[request, thread, command, name, ...args].join(' ')}\n`);
    return await replied;
  }

  kill(signal) {
    this.#child.kill(signal);
  }

  async close() {
    await end(this.#child);
  }

  #onLine(line) {
    const [request, outcome, ...result] = line.split(' ');
    const asked = this.#replies.get(request);
    this.#replies.delete(request);
    if (outcome === 'ok') asked?.resolve(result.join(' '));
    else asked?.reject(new Error(`${asked.command}: ${result.join(' ')}`));
  }

  #onExit() {
    this.#hasEnded = true;
    for (const { reject, command } of this.#replies.values())
      reject(new Error(`${command}: the process ended`));
    this.#replies.clear();
  }
}
