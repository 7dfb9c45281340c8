import { afterEach, describe, expect, it } from '@jest/globals';
import type { Socket } from 'node:net';
import { LockStoreError } from '../../../../lib/stores/port/index.js';
import {
  exists,
  getChildren,
  getData,
  JuteReader,
  JuteWriter,
  multi,
  remove,
} from '../../../../lib/stores/zookeeper/connection/protocol.js';
import { CODE } from '../../../../lib/stores/zookeeper/connection/zookeeper-failure.js';
import { ZooKeeperSocket } from '../../../../lib/stores/zookeeper/connection/zookeeper-socket.js';
import { TestServer } from '../../../support/test-server.js';
import { rejectionOf, within } from '../../../support/until.js';

const STAT = Buffer.alloc(68);

/** A reply without an error, as a server writes it. */
const answer = (xid: number): JuteWriter => new JuteWriter().int(xid).long(7).int(0);

describe('a connection to a server with protocol errors', () => {
  let server: TestServer | undefined;
  let client: ZooKeeperSocket | undefined;
  afterEach(() => {
    client?.cut(new Error('the test has ended'));
    server?.close();
  });

  /** An open connection to a server that replies to the first request with these frames. */
  async function connected(
    ...frames: readonly Buffer[]
  ): Promise<{ socket: ZooKeeperSocket; ended: Promise<Error> }> {
    const serve = (socket: Socket): void => {
      let received = 0;
      socket.on('data', () => {
        received += 1;
        if (received === 1) {
          socket.write(
            new JuteWriter().int(0).int(60_000).raw(Buffer.alloc(8, 1)).bytes(Buffer.alloc(16)).frame(),
          );
        } else if (received === 2) socket.write(Buffer.concat(frames));
      });
    };
    server = await TestServer.start(serve);
    let ended: (cause: Error) => void = () => undefined;
    const end = new Promise<Error>((resolve) => (ended = resolve));
    const socket = new ZooKeeperSocket(
      { host: '127.0.0.1', port: server.port },
      { tls: undefined, auth: undefined, requestTimeout: 20_000 },
      { event: () => undefined, replied: () => undefined, closed: ended },
    );
    client = socket;
    await socket.open(undefined, 60_000, 0);
    return { socket, ended: end };
  }

  it.each(['end', 'resetAndDestroy'] as const)(
    'says that the server closed the connection before it opened a session: by %s()',
    async (how) => {
      server = await TestServer.start((socket) => socket.once('data', () => socket[how]()));
      client = new ZooKeeperSocket(
        { host: '127.0.0.1', port: server.port },
        { tls: undefined, auth: undefined, requestTimeout: 20_000 },
        { event: () => undefined, replied: () => undefined, closed: () => undefined },
      );
      const error = await rejectionOf(client.open(undefined, 60_000, 0));
      expect(String(error)).toContain('closed the connection before it opened a session');
    },
  );

  it('reads the replies to its requests in order', async () => {
    const children = answer(2).int(2).text('a').text('b').raw(STAT);
    const { socket } = await connected(answer(1).raw(STAT).frame(), children.frame());
    const [stat, { names }] = await Promise.all([
      socket.request(exists('/a')),
      socket.request(getChildren('/a', false)),
    ]);
    expect(stat).toMatchObject({ czxid: 0, children: 0 });
    expect(names).toEqual(['a', 'b']);
  });

  it('ends when a reply belongs to another request, and ignores later ones', async () => {
    const { socket, ended } = await connected(answer(2).raw(STAT).frame(), answer(1).raw(STAT).frame());
    const requests = [socket.request(exists('/a')), socket.request(exists('/b'))].map(rejectionOf);
    expect((await within(5_000, 'the end', ended)).message).toMatch(/replies to another request/);
    for (const error of await Promise.all(requests)) {
      expect(error).toBeInstanceOf(LockStoreError);
      expect(error).toMatchObject({ inDoubt: true, unreachable: true });
    }
  });

  it.each([
    ['ends too early', answer(1).int(0).raw(STAT.subarray(0, 67))],
    ['has data shorter than its length', answer(1).int(100).raw(STAT)],
    ['has data of a negative length', answer(1).int(-2).raw(STAT)],
    ['has no data', answer(1)],
  ])('ends when a reply %s', async (_, frame) => {
    const { socket, ended } = await connected(frame.frame());
    const refused = rejectionOf(socket.request(getData('/a', false)));
    expect((await within(5_000, 'the end', ended)).message).toMatch(/could not be read/);
    expect(await refused).toMatchObject({ inDoubt: true });
  });
});

describe('the reply to a transaction', () => {
  const done = (to: JuteWriter): JuteWriter => to.int(-1).bool(true).int(-1);
  const deleted = (to: JuteWriter): JuteWriter => to.int(2).bool(false).int(0);
  const failed = (to: JuteWriter, code: number): JuteWriter => to.int(-1).bool(false).int(code).int(code);
  const transaction = multi([remove('/a'), remove('/b')]);
  const read = (to: JuteWriter): unknown => transaction.read(new JuteReader(done(to).frame().subarray(4)));

  it('has a result for each part, or the error of one', () => {
    expect(read(deleted(deleted(new JuteWriter())))).toEqual([undefined, undefined]);
    const refused = failed(failed(new JuteWriter(), 0), CODE.noNode);
    expect(() => read(refused)).toThrow(expect.objectContaining({ code: CODE.noNode, part: 1 }));
  });

  it.each([
    ['too few results', deleted(new JuteWriter())],
    ['too many results', deleted(deleted(deleted(new JuteWriter())))],
    ['too few errors', failed(new JuteWriter(), CODE.noNode)],
  ])('is rejected if it has %s', (_, to) => {
    expect(() => read(to)).toThrow(/results for 2 operations/);
  });
});

describe('a reply in jute', () => {
  const of = (write: (to: JuteWriter) => JuteWriter): JuteReader =>
    new JuteReader(write(new JuteWriter()).frame().subarray(4));

  it('is read as it was written', () => {
    const from = of((to) =>
      to
        .int(-5)
        .long(2 ** 40)
        .bool(true)
        .text('ä')
        .int(-1)
        .int(-1)
        .int(1)
        .int(9),
    );
    expect([from.int(), from.long(), from.bool(), from.text(), from.text()]).toEqual([
      -5,
      2 ** 40,
      true,
      'ä',
      '',
    ]);
    expect([from.list(() => from.int()), from.list(() => from.int())]).toEqual([[], [9]]);
  });

  it.each<[string, (from: JuteReader) => unknown, ...number[]]>([
    ['a number', (from) => from.int(), 0, 0, 0],
    ['a long number', (from) => from.long(), 0, 0, 0, 0, 0, 0, 0],
    ['an id', (from) => from.id(), 1, 2, 3, 4],
    ['a boolean', (from) => from.bool()],
    ['a string', (from) => from.text(), 0, 0, 0, 2, 65],
    ['bytes', (from) => from.bytes(), 0, 0, 0, 1],
    ['bytes of a negative length', (from) => from.bytes(), 255, 255, 255, 254],
    ['a list', (from) => from.list(() => from.int()), 127, 255, 255, 255, 0, 0, 0, 1],
  ])('is rejected if it ends in %s', (_, read, ...rest) => {
    expect(() => read(new JuteReader(Buffer.from(rest)))).toThrow(/ends too early|length can't be/);
  });
});
