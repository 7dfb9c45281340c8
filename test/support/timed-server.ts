import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { ProcessActivity } from './process-activity.js';

/** A server whose clock a test can set. */
export interface TimedServer {
  readonly port: number;
  /** Stops the wall clock at this time until the next call, ms. */
  fixClock(wall: number): void;
  /** The id of its main process, unless it is a redis-server, which itself reports pending work. */
  mainProcess?(): number;
}

interface Probe {
  readonly server: TimedServer;
  uses(socket: Socket): boolean;
  isIdle(): Promise<boolean>;
  close(): void;
}

const BLOCKED = /blocked_clients:(\d+)/;
const INPUT = /total_net_input_bytes:(\d+)/;
/** Other processes may send it requests continuously. */
const MOST_QUESTIONS = 500;
const QUESTION = 'INFO clients\r\nINFO stats\r\n';

/** Servers that communicate: a request to one of them may continue in another. */
export class ServerGroup {
  /** Whether a request may be under way to a server, in it, or back. */
  isAsked = true;
  private toldAt = -1;

  private constructor(private readonly probes: readonly Probe[]) {}

  static async open(servers: readonly TimedServer[]): Promise<ServerGroup> {
    return new ServerGroup(await Promise.all(servers.map(probeOf)));
  }

  /** Whether a probe uses the socket. */
  uses(socket: Socket): boolean {
    return this.probes.some((probe) => probe.uses(socket));
  }

  /** Whether the socket leads to one of the servers. A socket that is not connected yet may. */
  isBehind(socket: Socket): boolean {
    const { remotePort } = socket;
    return remotePort === undefined || this.probes.some(({ server }) => server.port === remotePort);
  }

  /** Sets all their clocks. `wall` depends only on `now`. */
  tell(now: number, wall: number): void {
    if (this.toldAt === now) return;
    this.toldAt = now;
    for (const { server } of this.probes) server.fixClock(wall);
  }

  /** Resolves when all have processed what they had received; whether none has a waiting client. */
  async isIdle(): Promise<boolean> {
    const idle = await Promise.all(this.probes.map((probe) => probe.isIdle()));
    return !idle.includes(false);
  }

  close(): void {
    for (const probe of this.probes) probe.close();
  }
}

async function probeOf(server: TimedServer): Promise<Probe> {
  const pid = server.mainProcess?.();
  return pid === undefined ? await IdleProbe.open(server) : new ProcessProbe(server, pid);
}

/** How long the server gets the processor before it is checked again, ms of real time. */
const NAPS = [0.2, 0.5, 1, 2, 4];

/**
 * Checks the threads of a server: on loopback, bytes arrive immediately, and the receiver is awake until nothing is left
 * to do.
 */
class ProcessProbe implements Probe {
  private readonly activity: ProcessActivity;
  private readonly never = new Int32Array(new SharedArrayBuffer(4));
  /** How often in a row it was busy. */
  private looks = 0;

  constructor(
    readonly server: TimedServer,
    pid: number,
  ) {
    this.activity = new ProcessActivity(pid);
  }

  uses(): boolean {
    return false;
  }

  isIdle(): Promise<boolean> {
    const isIdle = this.activity.isAtRest();
    this.looks = isIdle ? 0 : this.looks + 1;
    // No timer, which would count as one of the test's. Nothing is late, since virtual time does not pass.
    if (!isIdle) Atomics.wait(this.never, 0, 0, NAPS[Math.min(this.looks, NAPS.length) - 1]);
    return Promise.resolve(isIdle);
  }

  close(): void {
    this.activity.close();
  }
}

/** Asks a redis-server whether it has answered all requests so far. */
class IdleProbe implements Probe {
  /** The bytes that the server will have read at the next question, if it reads nothing else. */
  private expectedInput = -1;
  /** How often in a row it had read something else. */
  private questions = 0;

  private constructor(
    readonly server: TimedServer,
    private readonly socket: Socket,
  ) {
    socket.setNoDelay(true);
    socket.unref();
    // A server that has ended has nothing left to reply.
    socket.on('error', () => undefined);
  }

  static async open(server: TimedServer): Promise<IdleProbe> {
    const socket = connect(server.port, '127.0.0.1');
    await once(socket, 'connect');
    return new IdleProbe(server, socket);
  }

  /** Whether the socket is the probe's own. */
  uses(socket: Socket): boolean {
    return socket === this.socket;
  }

  /**
   * Resolves when the server has processed everything received before. True if no client is blocked (`WAIT`) and it has
   * read nothing but this question since the last one: it reads a long request in many pieces, with other requests in
   * between.
   */
  async isIdle(): Promise<boolean> {
    const { socket } = this;
    if (socket.destroyed) return true;
    return await new Promise<boolean>((resolve) => {
      let answer = '';
      const done = (isIdle: boolean): void => {
        socket.off('data', read).off('close', ended).unref();
        resolve(isIdle);
      };
      const ended = (): void => done(true);
      const read = (chunk: Buffer): void => {
        answer += chunk.toString('latin1');
        const [, blocked] = BLOCKED.exec(answer) ?? [];
        const [, input] = INPUT.exec(answer) ?? [];
        if (blocked === undefined || input === undefined || !isWhole(answer)) return;
        const isQuiet = Number(input) === this.expectedInput;
        this.questions = isQuiet ? 0 : this.questions + 1;
        this.expectedInput = Number(input) + QUESTION.length;
        done(blocked === '0' && (isQuiet || this.questions > MOST_QUESTIONS));
      };
      socket.on('data', read).on('close', ended).ref();
      socket.write(QUESTION);
    });
  }

  close(): void {
    this.socket.destroy();
  }
}

/** Whether both replies are complete: `$<length>\r\n<text>\r\n`. */
function isWhole(answer: string): boolean {
  let at = 0;
  for (let replies = 0; replies < 2; replies++) {
    const [head = '', length] = /^\$(\d+)\r\n/.exec(answer.slice(at)) ?? [];
    if (length === undefined) return false;
    at += head.length + Number(length) + 2;
  }
  return at === answer.length;
}
