import { afterEach, describe, expect, it } from '@jest/globals';
import { Server, ServerCredentials, type sendUnaryData } from '@grpc/grpc-js';
import { Endpoint, channelCredentials } from '../../../../lib/stores/etcd/connection/endpoint.js';
import { methods } from '../../../../lib/stores/etcd/connection/protocol.js';
import { freePort } from '../../../support/free-port.js';
import { TestServer } from '../../../support/test-server.js';
import { elapse, rejectionOf, until } from '../../../support/until.js';

const to = (port: number): Endpoint =>
  new Endpoint(`127.0.0.1:${port}`, channelCredentials(undefined), undefined, 10_000);

/** Ends it some microtasks after it has begun to connect. */
async function giveUp(endpoint: Endpoint, ticks: number): Promise<void> {
  const opened = rejectionOf(endpoint.open(10_000));
  for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
  endpoint.cut(new Error('closed'));
  await opened;
}

it('F51: no connection to a silent server is left, however early the attempt was given up', async () => {
  const server = await TestServer.start();
  try {
    for (let ticks = 0; ticks < 30; ticks++) await giveUp(to(server.port), ticks);
    await until('no socket is left', () => !process.getActiveResourcesInfo().includes('TCPSocketWrap'));
  } finally {
    server.close();
  }
});

it('F51: gRPC connects once more, a second after its channel was closed, and that connection is closed, too', async () => {
  const port = await freePort();
  const early = giveUp(to(port), 0);
  const late = to(port);
  await rejectionOf(late.open(10_000));
  late.cut(new Error('closed'));
  await early;
  const server = await TestServer.start(undefined, port);
  try {
    await until('it connects once more', () => server.connections.length > 0);
    await until('it is closed', () => server.connections.every(({ destroyed }) => destroyed));
    // The attempt that was given up at once has no other one.
    await elapse(500);
    expect(server.connections.length).toBe(1);
  } finally {
    server.close();
  }
});

/** A member on which the test decides when it replies. */
class SlowMember {
  private readonly server = new Server();
  private readonly open: sendUnaryData<Buffer>[] = [];
  /** `leader` of the status: Protocol Buffers, field 4. */
  status: Buffer | undefined = Buffer.from([0x20, 1]);
  asked = 0;

  async start(): Promise<number> {
    const raw = (name: string): object => ({
      path: `/etcdserverpb.${name}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: Buffer.from,
      requestDeserialize: (bytes: Buffer) => bytes,
      responseSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: Buffer.from,
    });
    const service = { status: raw('Maintenance/Status'), range: raw('KV/Range'), txn: raw('KV/Txn') };
    const later = (_: unknown, done: sendUnaryData<Buffer>): void => void this.open.push(done);
    this.server.addService(service as never, {
      status: (_: unknown, done: sendUnaryData<Buffer>) => {
        this.asked += 1;
        if (this.status !== undefined) done(null, this.status);
      },
      range: later,
      txn: later,
    });
    return await new Promise((resolve, reject) => {
      this.server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
        if (error === null) resolve(port);
        else reject(error);
      });
    });
  }

  /** Whether there are so many requests. */
  has(count: number): boolean {
    return this.open.length === count;
  }

  /** Replies to the request with this index. */
  reply(index = 0): void {
    const [done] = this.open.splice(index, 1);
    done?.(null, Buffer.alloc(0));
  }

  close(): void {
    this.server.forceShutdown();
  }
}

describe('a member that does not reply in time', () => {
  const TIME = 300;
  const closed: { close(): void }[] = [];
  afterEach(() => {
    for (const each of closed.splice(0)) each.close();
  });

  const opened = async (): Promise<{
    member: SlowMember;
    endpoint: Endpoint;
    down: () => Error | undefined;
  }> => {
    const member = new SlowMember();
    const endpoint = new Endpoint(
      `127.0.0.1:${await member.start()}`,
      channelCredentials(undefined),
      undefined,
      TIME,
    );
    closed.push({ close: () => endpoint.cut(new Error('closed')) }, member);
    await endpoint.open(10_000);
    let cause: Error | undefined;
    endpoint.onDown = (why) => (cause = why);
    return { member, endpoint, down: () => cause };
  };
  const ask = (endpoint: Endpoint): Promise<unknown> =>
    endpoint.call(methods.transaction, { do: 'txn', then: [] });

  it('F69: is waited for while it lives, and nothing is sent twice', async () => {
    const { member, endpoint, down } = await opened();
    const asked = [ask(endpoint), ask(endpoint)];
    await until('it was asked again and again whether it lives', () => member.asked > 8, {
      deadline: 20_000,
    });
    expect(down()).toBeUndefined();
    // The two, and one that shows whether they were lost.
    expect(member.has(3)).toBe(true);
    for (let left = 3; left > 0; left--) member.reply();
    await Promise.all(asked);
    expect(down()).toBeUndefined();
  });

  it('F69: is given up when it does not reply to the question whether it lives', async () => {
    const { member, endpoint, down } = await opened();
    member.status = undefined;
    expect(await rejectionOf(ask(endpoint))).toMatchObject({ message: /did not reply within 300 ms/ });
    expect(down()).toBeDefined();
  });

  it('F69: is given up when it has no leader', async () => {
    const { member, endpoint } = await opened();
    member.status = Buffer.alloc(0);
    expect(await rejectionOf(ask(endpoint))).toMatchObject({ message: /knows no leader/ });
  });

  it('F69: is given up when it has lost a request, but not before it replies to a later one', async () => {
    const { member, endpoint, down } = await opened();
    const lost = rejectionOf(ask(endpoint));
    await until('it is asked whether it has lost one', () => member.has(2));
    expect(down()).toBeUndefined();
    await until('it has replied to later ones', () => {
      if (member.has(2)) member.reply(1);
      return down() !== undefined;
    });
    expect(await lost).toMatchObject({ message: /did not reply within 300 ms/ });
  });
});
