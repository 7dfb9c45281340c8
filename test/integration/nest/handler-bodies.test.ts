import { once } from 'node:events';
import { connect } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import {
  Controller,
  Get,
  HttpException,
  Injectable,
  StreamableFile,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { delay, map, Observable, of, take } from 'rxjs';
import { currentLock, DistributedLockModule, Locked, LockService } from '../../../lib/index.js';
import { until, within } from '../../support/until.js';
import { Gate } from './gate.js';
import { ADAPTERS, HttpApps, type HttpApp } from './http-app.js';
import { Visitor } from './visitor.js';

const KEY = 'k';

/** The body that the next handler returns. */
let makeBody: () => unknown;
/** Blocks the second chunk of a body. */
let middle: Gate;
let log: string[];

/** Text in two chunks, between which the test holds it. */
async function* chunks(): AsyncGenerator<string> {
  log.push('begins');
  try {
    yield 'first ';
    await middle.pass();
    yield 'last';
  } finally {
    log.push('ends');
  }
}

/** Everything that Nest 12 sends as a stream. */
const BODIES: Readonly<Record<string, () => unknown>> = {
  'an async generator': chunks,
  'an async iterable': () => ({ [Symbol.asyncIterator]: chunks }),
  'a Readable': () => Readable.from(chunks()),
  'a StreamableFile': () => new StreamableFile(Readable.from(chunks(), { objectMode: false })),
  'a ReadableStream': () => ReadableStream.from(chunks()),
  'a Response': () => new Response(ReadableStream.from(encoded())),
  'an Observable of a StreamableFile': () =>
    of(new StreamableFile(Readable.from(chunks(), { objectMode: false }))),
};

async function* encoded(): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks()) yield new TextEncoder().encode(chunk);
}

@Injectable()
class Fails implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      map(() => {
        throw new HttpException('inside', 418);
      }),
    );
  }
}

/** Unsubscribes as soon as it has the response. */
@Injectable()
class TakesOne implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(take(1), delay(1));
  }
}

@Injectable()
class Replaces implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map(() => 'replaced'));
  }
}

@Controller()
class Things {
  constructor(private readonly locks: LockService) {}

  @Get()
  @Locked(KEY)
  async get(): Promise<unknown> {
    return makeBody();
  }

  @Get('busy')
  @Locked({ key: KEY, waitTime: 0 })
  async busy(): Promise<unknown> {
    return chunks();
  }

  @Get('fails')
  @UseInterceptors(Fails)
  @Locked(KEY)
  async fails(): Promise<unknown> {
    return makeBody();
  }

  @Get('takes-one')
  @UseInterceptors(TakesOne)
  @Locked(KEY)
  async takesOne(): Promise<unknown> {
    return makeBody();
  }

  @Get('replaced')
  @UseInterceptors(Replaces)
  @Locked(KEY)
  async replaced(): Promise<unknown> {
    return makeBody();
  }

  @Get('inside')
  @Locked(KEY)
  async inside(): Promise<unknown> {
    const { locks } = this;
    return (async function* () {
      yield String(currentLock(KEY).isHeld);
      await middle.pass();
      yield await locks.withLock(KEY, { waitTime: 0 }, () => ` ${String(currentLock().isHeld)}`);
    })();
  }

  @Get('lost')
  @Locked({ key: KEY, onLost: 'throw' })
  async lost(): Promise<unknown> {
    return chunks();
  }

  /** Keeps later responses of its connection waiting. */
  @Get('waits')
  async waits(): Promise<void> {
    await middle.pass();
  }

  @Get('buffer')
  @Locked(KEY)
  async buffer(): Promise<StreamableFile> {
    return new StreamableFile(Buffer.from('whole'));
  }
}

describe.each(Object.entries(ADAPTERS))('the body that a locked handler returns, on %s', (_, adapter) => {
  const apps = new HttpApps();
  let app: HttpApp;
  const begin = async (body: () => unknown = chunks): Promise<void> => {
    middle = new Gate();
    makeBody = body;
    log = [];
    app = await apps.start(
      { imports: [DistributedLockModule.forRoot({ store: 'memory' })], controllers: [Things] },
      undefined,
      adapter(),
    );
  };
  const isFree = (): Promise<true> => until('it is free', async () => !(await app.locks.isLocked(KEY)));

  it.each(Object.keys(BODIES))('F72, B33: %s is sent under the lock', async (kind) => {
    await begin(BODIES[kind]);
    const first = new Visitor(app.url('/'));
    await within(5_000, 'the middle', middle.reached);
    await within(5_000, 'the first chunk', first.reads('first'));
    expect(await app.locks.isLocked(KEY)).toBe(true);

    const queued = app.next('queued', KEY);
    const second = new Visitor(app.url('/'));
    await within(5_000, 'the second request to wait', queued);
    expect(log).toEqual(['begins']);
    middle.open();
    await within(5_000, 'the end', Promise.all([first.gone, second.gone]));
    expect(first.text).toBe('first last');
    expect(second.text).toBe('first last');
    expect(log).toEqual(['begins', 'ends', 'begins', 'ends']);
    await isFree();
    expect(app.problems).toEqual([]);
  });

  it.each(Object.keys(BODIES))('F72, B33: the lock of %s ends when the client disconnects', async (kind) => {
    await begin(BODIES[kind]);
    const client = new Visitor(app.url('/'));
    await within(5_000, 'the first chunk', client.reads('first'));
    expect(await app.locks.isLocked(KEY)).toBe(true);
    await client.leave();
    middle.open();
    await isFree();
    await until('it has ended', () => log.includes('ends'));
  });

  it('F72: an async generator that works when its client disconnects keeps the lock until it ends', async () => {
    await begin();
    const client = new Visitor(app.url('/'));
    await within(5_000, 'the middle', middle.reached);
    await client.leave();
    await app.get('/none');
    expect(await app.locks.isLocked(KEY)).toBe(true);
    middle.open();
    await isFree();
    expect(log).toEqual(['begins', 'ends']);
  });

  it('F72, B50, B57: the code of an async generator runs in the scope of the lock', async () => {
    await begin();
    middle.open();
    expect((await app.get('/inside')).text).toBe('true true');
    expect(await app.locks.isLocked(KEY)).toBe(false);
  });

  it('F72, B41: a busy handler of a stream is answered with 423', async () => {
    await begin();
    await using _holder = await app.locks.acquire(KEY);
    expect(await app.get('/busy')).toMatchObject({ status: 423, body: { code: 'LOCK_TIMEOUT' } });
    expect(log).toEqual([]);
  });

  it.each(Object.keys(BODIES))(
    'F72: %s that an interceptor drops or replaces frees the lock',
    async (kind) => {
      await begin(BODIES[kind]);
      middle.open();
      expect((await app.get('/fails')).status).toBe(418);
      await isFree();
      expect((await app.get('/replaced')).text).toBe('replaced');
      await isFree();
      expect((await app.get('/', { method: 'HEAD' })).status).toBe(200);
      await isFree();
    },
  );

  it('F72: an interceptor that unsubscribes with the response does not free the lock', async () => {
    await begin();
    const client = new Visitor(app.url('/takes-one'));
    await within(5_000, 'the first chunk', client.reads('first'));
    expect(await app.locks.isLocked(KEY)).toBe(true);
    middle.open();
    await within(5_000, 'the end', client.gone);
    await isFree();
  });

  it('F72, B27: with onLost throw, the body of a lost lock fails at its end', async () => {
    await begin();
    const client = new Visitor(app.url('/lost'));
    await within(5_000, 'the first chunk', client.reads('first'));
    await app.admin.forceRelease(KEY);
    middle.open();
    await within(5_000, 'the end', client.gone);
    await until('it is logged', () => app.problems.some((line) => line.includes('was lost')));
  });

  it('F72: a body that fails frees the lock', async () => {
    await begin(async function* () {
      yield 'first';
      await middle.pass();
      throw new Error('broken');
    });
    const client = new Visitor(app.url('/'));
    await within(5_000, 'the first chunk', client.reads('first'));
    middle.open();
    await within(5_000, 'the end', client.gone);
    await isFree();
  });

  it('F72: a file from a buffer needs no lock to be sent', async () => {
    await begin();
    expect((await app.get('/buffer')).text).toBe('whole');
    expect(await app.locks.isLocked(KEY)).toBe(false);
  });

  it('F72: a pipelined request whose client disconnects frees the lock', async () => {
    const unread = new PassThrough();
    await begin(() => unread);
    const socket = connect(Number(app.url('/').port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write('GET /waits HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await until('the second has the lock', () => app.locks.isLocked(KEY));
    socket.destroy();
    await isFree();
    middle.open();
  });
});
