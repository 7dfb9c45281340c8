import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, constants, createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import {
  Body,
  Controller,
  Get,
  Injectable,
  Post,
  Query,
  Req,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Observable } from 'rxjs';
import { DistributedLockModule, Locked, type LockEvent } from '../../../lib/index.js';
import { ClientConnection } from '../../../lib/nest/requests/client-connection.js';
import { within } from '../../support/until.js';
import { Gate } from './gate.js';
import { ADAPTERS, HttpApps, type HttpApp } from './http-app.js';
import { Visitor } from './visitor.js';

const KEY = 'k';

/** Blocks the request until the test opens it. */
let gate = new Gate();
let served = 0;

@Injectable()
class SlowGuard implements CanActivate {
  async canActivate(): Promise<boolean> {
    await gate.pass();
    return true;
  }
}

@Injectable()
class SlowPipe implements PipeTransform {
  async transform(value: unknown): Promise<unknown> {
    await gate.pass();
    return value;
  }
}

@Injectable()
class SlowInterceptor implements NestInterceptor {
  async intercept(_: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    await gate.pass();
    return next.handle() as Observable<unknown>;
  }
}

/** The request of Express, and `raw` of Fastify. */
interface Request extends AsyncIterable<Buffer> {
  readonly raw?: AsyncIterable<Buffer>;
}

@Controller()
class Things {
  @Get('guard')
  @UseGuards(SlowGuard)
  @Locked({ key: KEY, waitTime: 30_000 })
  async guard(): Promise<string> {
    return this.serve();
  }

  @Get('pipe')
  @UsePipes(SlowPipe)
  @Locked({ key: KEY, waitTime: 30_000 })
  async pipe(@Query('q') q: string): Promise<string> {
    return this.serve(q);
  }

  @Get('interceptor')
  @UseInterceptors(SlowInterceptor)
  @Locked({ key: KEY, waitTime: 30_000 })
  async interceptor(): Promise<string> {
    return this.serve();
  }

  @Post('body')
  @UseGuards(SlowGuard)
  @UsePipes(SlowPipe)
  @Locked({ key: KEY, waitTime: 30_000 })
  async body(@Body() body: { readonly text: string }): Promise<string> {
    return this.serve(body.text);
  }

  @Post('stream')
  @UseGuards(SlowGuard)
  @Locked({ key: KEY, waitTime: 30_000 })
  async stream(@Req() incoming: Request): Promise<string> {
    let text = '';
    for await (const chunk of incoming.raw ?? incoming) text += chunk.toString();
    return this.serve(text);
  }

  private async serve(text = ''): Promise<string> {
    served += 1;
    return Promise.resolve(`served ${text}`);
  }
}

const ADAPTERS_FOR_STREAMS = {
  ...ADAPTERS,
  Fastify: (): FastifyAdapter => {
    const adapter = new FastifyAdapter();
    // The handler reads the body, as for uploads.
    adapter.getInstance().addContentTypeParser('application/octet-stream', (_request, _payload, done) => {
      done(null);
    });
    return adapter;
  },
};

describe.each(Object.entries(ADAPTERS_FOR_STREAMS))(
  'a client that may disconnect before the lock is requested, on %s',
  (_, adapter) => {
    const apps = new HttpApps();
    const events: LockEvent['type'][] = [];

    beforeEach(() => {
      gate = new Gate();
      served = 0;
      events.length = 0;
    });

    const start = async (): Promise<HttpApp> => {
      const imports = [DistributedLockModule.forRoot({ store: 'memory' })];
      const app = await apps.start({ imports, controllers: [Things] }, undefined, adapter());
      app.locks.events.subscribe(({ type }) => events.push(type));
      return app;
    };
    /** Waits until the server has noticed a disconnected client, and pending callbacks have run. */
    const settle = async (app: HttpApp): Promise<void> => {
      await app.get('/none');
      await app.get('/none');
    };

    it.each(['guard', 'interceptor', 'pipe'])(
      'that disconnects while a slow %s runs neither waits for the lock nor runs its handler',
      async (place) => {
        const app = await start();
        const client = new Visitor(app.url(`/${place}`));
        await within(5_000, 'the request', gate.reached);
        await client.leave();
        await settle(app);
        gate.open();
        await settle(app);
        // A pipe runs after the call for the lock has started; the signal aborts that call at once.
        expect([served, events.filter((type) => type !== 'aborted')]).toEqual([0, []]);
        expect(app.problems).toEqual([]);
      },
    );

    it('that stays connected gets its response, also for several requests with bodies on one connection', async () => {
      const app = await start();
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const post = (path: string, type: string, chunks: readonly string[]): Promise<string> =>
        new Promise((resolve, reject) => {
          const headers = { 'content-type': type };
          const sent = request(app.url(path), { method: 'POST', agent, headers }, (response) => {
            let text = '';
            response.setEncoding('utf8');
            response.on('data', (chunk: string) => (text += chunk));
            response.on('end', () => resolve(text));
          });
          sent.on('error', reject);
          for (const chunk of chunks) sent.write(chunk);
          sent.end();
        });
      try {
        for (let round = 0; round < 3; round++) {
          for (const [path, type, chunks, text] of [
            ['/body', 'application/json', ['{"text":', '"json"}'], 'json'],
            ['/stream', 'application/octet-stream', ['first ', 'second'], 'first second'],
          ] as const) {
            gate = new Gate();
            const answer = post(path, type, chunks);
            await within(5_000, 'the request', gate.reached);
            // The request has been read completely when another one has been answered.
            await settle(app);
            gate.open();
            expect(await within(5_000, 'the answer', answer)).toBe(`served ${text}`);
          }
        }
      } finally {
        agent.destroy();
      }
    });
  },
);

describe('a stream of HTTP/2', () => {
  it('has no client after a reset, and still has one while it is open or answered', async () => {
    const seen: boolean[] = [];
    const server = createServer((_, response) => {
      const connection = new ClientConnection(response);
      seen.push(connection.isGone);
      connection.onGone(() => {
        seen.push(connection.isGone);
        server.emit('test-gone');
      });
      if (seen.length > 1) response.end(() => server.emit('test-answered', connection.isGone));
      else response.stream.respond();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    try {
      const gone = once(server, 'test-gone');
      const first = client.request();
      await within(5_000, 'the response', once(first, 'response'));
      first.close(constants.NGHTTP2_CANCEL);
      await within(5_000, 'the end of the stream', gone);

      const answered = once(server, 'test-answered');
      const second = client.request();
      second.resume();
      await within(5_000, 'the answer', once(second, 'close'));
      expect(await within(5_000, 'its end', answered)).toEqual([false]);
      expect(seen).toEqual([false, true, false]);
    } finally {
      client.destroy();
      server.close();
    }
  });
});
