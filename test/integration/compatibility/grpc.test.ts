import { writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Catch, Controller, UseFilters, type ExceptionFilter } from '@nestjs/common';
import {
  ClientProxyFactory,
  GrpcMethod,
  Transport,
  type ClientGrpcProxy,
  type GrpcOptions,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { lastValueFrom, throwError, type Observable } from 'rxjs';
import { DistributedLockModule, Locked, LockService, LockTimeoutError } from '../../../lib/index.js';
import { freePort } from '../../support/free-port.js';
import { LogRecorder } from '../../support/lock-app.js';

const PROTO = `syntax = "proto3";
package stock;
service Stock { rpc Deduct (Order) returns (Left) {} rpc DeductOrTell (Order) returns (Left) {} }
message Order { string sku = 1; }
message Left { int32 left = 1; }
`;

interface StockClient {
  deduct(order: { sku: string }): Observable<{ left: number }>;
  deductOrTell(order: { sku: string }): Observable<{ left: number }>;
}

/** ABORTED: the caller may try again. */
const ABORTED = 10;

@Catch(LockTimeoutError)
class BusyFilter implements ExceptionFilter<LockTimeoutError> {
  catch({ code }: LockTimeoutError): Observable<never> {
    return throwError(() => ({ code: ABORTED, message: code }));
  }
}

@Controller()
class Stock {
  @GrpcMethod('Stock', 'Deduct')
  @Locked({ key: ({ sku }: { sku: string }) => `stock:${sku}`, waitTime: 0 })
  async deduct(_order: { sku: string }): Promise<{ left: number }> {
    return Promise.resolve({ left: 9 });
  }

  @GrpcMethod('Stock', 'DeductOrTell')
  @UseFilters(BusyFilter)
  @Locked({ key: ({ sku }: { sku: string }) => `stock:${sku}`, waitTime: 0 })
  async deductOrTell(_order: { sku: string }): Promise<{ left: number }> {
    return Promise.resolve({ left: 9 });
  }
}

describe('@Locked on message handlers over gRPC', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grpc-'));
    await writeFile(join(folder, 'stock.proto'), PROTO);
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function start(showKeys: boolean) {
    const options: GrpcOptions = {
      transport: Transport.GRPC,
      options: {
        package: 'stock',
        protoPath: join(folder, 'stock.proto'),
        url: `127.0.0.1:${String(await freePort())}`,
      },
    };
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store: 'memory', rpc: { showKeys } })],
      controllers: [Stock],
    })
      .setLogger(new LogRecorder())
      .compile();
    const service = module.createNestMicroservice<GrpcOptions>(options);
    await service.listen();
    const client = ClientProxyFactory.create(options) as unknown as ClientGrpcProxy;
    return {
      stock: client.getService<StockClient>('Stock'),
      locks: module.get(LockService),
      [Symbol.asyncDispose]: async () => {
        client.close();
        await service.close();
      },
    };
  }

  /** What a caller sees. */
  const answerOf = async (answer: Observable<unknown>): Promise<unknown> => {
    try {
      return await lastValueFrom(answer);
    } catch (error) {
      const { code, details } = error as { code: number; details: string };
      return { code, details };
    }
  };

  it('B41: a busy lock is the status UNKNOWN with the message of the error, and a filter may map it', async () => {
    await using service = await start(true);
    const { stock, locks } = service;
    expect(await answerOf(stock.deduct({ sku: 'a' }))).toEqual({ left: 9 });
    await locks.withLock('stock:a', async () => {
      expect(await answerOf(stock.deduct({ sku: 'a' }))).toEqual({
        code: 2,
        details: expect.stringContaining('"stock:a" is held by another caller'),
      });
      expect(await answerOf(stock.deductOrTell({ sku: 'a' }))).toEqual({
        code: ABORTED,
        details: 'LOCK_TIMEOUT',
      });
    });
  });

  it('B41: with rpc.showKeys false, the message does not contain the key', async () => {
    await using service = await start(false);
    const { stock, locks } = service;
    const answer = await locks.withLock('stock:a', () => answerOf(stock.deduct({ sku: 'a' })));
    expect(answer).toEqual({ code: 2, details: expect.not.stringContaining('stock:a') });
  });
});
