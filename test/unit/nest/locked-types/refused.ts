/** Code that must not compile: `npm run typecheck`, and locked-types.test.ts for the messages. Never run. */
import { Injectable } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { Locked, type LockService } from '../../../../lib/index.js';

interface Order {
  readonly sku: string;
}

interface PaidOrder extends Order {
  readonly paid: true;
}

@Injectable()
export class Refused {
  // @ts-expect-error returns neither a promise nor an Observable
  @Locked('k')
  plainValue(): string {
    return 'not locked';
  }

  // @ts-expect-error its caller would run a generator after the release
  @Locked('k')
  async *generated(): AsyncGenerator<string> {
    yield await Promise.resolve('not locked');
  }

  // @ts-expect-error the same for a stream
  @Locked('k')
  streamed(): ReadableStream<string> {
    return new ReadableStream();
  }

  // @ts-expect-error returns a promise only sometimes
  @Locked('k')
  sometimes(): Promise<string> | string {
    return 'not locked';
  }

  // @ts-expect-error another type than the method's parameter
  @Locked({ key: (id: number) => String(id) })
  async otherType(id: string): Promise<string> {
    return Promise.resolve(id);
  }

  // @ts-expect-error more parameters than the method has
  @Locked({ key: (id: string, name: string) => id + name })
  async tooMany(id: string): Promise<string> {
    return Promise.resolve(id);
  }

  // @ts-expect-error a narrower type than that of the parameter
  @Locked({ key: (order: PaidOrder) => order.sku })
  async narrower(order: Order): Promise<Order> {
    return Promise.resolve(order);
  }

  // @ts-expect-error the parameter may be undefined
  @Locked({ key: (id: string) => id })
  async optional(id?: string): Promise<string | undefined> {
    return Promise.resolve(id);
  }

  // @ts-expect-error the key is not a string
  @Locked({ key: (id: number) => id })
  async numberKey(id: number): Promise<number> {
    return Promise.resolve(id);
  }

  // @ts-expect-error one of the keys may be undefined
  @Locked({ key: (order: Order, name?: string) => [order.sku, name] })
  async maybeAmongKeys(order: Order, name?: string): Promise<string> {
    return Promise.resolve(`${order.sku} ${name ?? ''}`);
  }

  // @ts-expect-error the key comes too late
  @Locked({ key: async (id: string) => Promise.resolve(id) })
  async promisedKey(id: string): Promise<string> {
    return Promise.resolve(id);
  }

  // @ts-expect-error onBusy gets the method's parameters too
  @Locked({ key: (id: string) => id, onBusy: (id: number) => id.toFixed() })
  async otherOnBusy(id: string): Promise<string> {
    return Promise.resolve(id);
  }

  // @ts-expect-error skipped, it resolves to undefined
  @Locked({ key: (id: string) => id, onBusy: 'skip' })
  async skipped(id: string): Promise<string> {
    return Promise.resolve(id);
  }

  // @ts-expect-error another type than the method's result
  @Locked({ key: 'k', onBusy: () => 5 })
  async otherResult(): Promise<string> {
    return Promise.resolve('a string');
  }

  // @ts-expect-error the method returns no value
  @Locked({ key: 'k', onBusy: () => 5 })
  async resultOfNothing(): Promise<void> {
    return Promise.resolve();
  }

  // @ts-expect-error another type than the values of the stream
  @Locked({ key: 'k', onBusy: () => 'a string' })
  otherValue(): Observable<number> {
    throw new Error('never run');
  }

  // @ts-expect-error the method has no second parameter
  @Locked({ key: (id: string) => id, onBusy: (id: string, name: string) => id + name })
  async tooManyOfBusy(id: string): Promise<string> {
    return Promise.resolve(id);
  }

  // prettier-ignore
  // @ts-expect-error the class has no such property
  @Locked({ key(id: string) { return id + String(this.suffix); } })
  async noSuchProperty(id: string): Promise<string> {
    return Promise.resolve(id);
  }

  // prettier-ignore
  // @ts-expect-error nor for onBusy
  @Locked({ key: 'k', onBusy() { return String(this.suffix); } })
  async noSuchPropertyWhenBusy(): Promise<string> {
    return Promise.resolve('a string');
  }

  // prettier-ignore
  // @ts-expect-error the instance is no Order
  @Locked({ key(this: Order) { return this.sku; } })
  async otherThis(): Promise<void> {
    return Promise.resolve();
  }

  // @ts-expect-error the label takes another type
  @Locked({ key: 'k', label: (sku: string) => sku })
  async otherLabel(order: Order): Promise<string> {
    return Promise.resolve(order.sku);
  }

  // @ts-expect-error the method has no parameter for the wait time
  @Locked({ key: (order: Order) => order.sku, waitTime: (order: Order, ms: number) => ms })
  async noSecond(order: Order): Promise<string> {
    return Promise.resolve(order.sku);
  }

  // prettier-ignore
  // @ts-expect-error no such property for a computed option
  @Locked({ key: 'k', operation(this: Refused) { return String(this.suffix); } })
  async noSuchOperation(): Promise<void> {
    return Promise.resolve();
  }

  // @ts-expect-error all calls would share the signal
  @Locked({ key: 'k', signal: new AbortController().signal })
  async withSignal(): Promise<void> {
    return Promise.resolve();
  }

  // @ts-expect-error no function for the mode
  @Locked({ key: 'k', mode: () => 'shared' })
  async computedMode(): Promise<void> {
    return Promise.resolve();
  }

  // @ts-expect-error no such option
  @Locked({ key: 'k', ttl: 5 })
  async unknownOption(): Promise<void> {
    return Promise.resolve();
  }

  // @ts-expect-error a backoff is created by fixed or exponential
  @Locked({ key: 'k', retry: { backoff: { pauseAfter: () => 5 } } })
  async ownBackoff(): Promise<void> {
    return Promise.resolve();
  }

  // @ts-expect-error a getter can't be locked
  @Locked('k')
  get getter(): Promise<string> {
    return Promise.resolve('not locked');
  }

  // @ts-expect-error a field can't be locked
  @Locked('k')
  readonly field = async (): Promise<void> => Promise.resolve();
}

export class Slips {
  // @ts-expect-error no readers with a limit
  @Locked({ key: 'k', mode: 'shared', limit: 3 })
  async readersWithLimit(): Promise<void> {
    // never run
  }

  // @ts-expect-error no retry in the queue
  @Locked({ key: 'k', fair: true, retry: { maxAttempts: 3 } })
  async fairRetry(): Promise<void> {
    // never run
  }

  async calls(locks: LockService): Promise<void> {
    // @ts-expect-error no readers with a limit, by a call
    await locks.withLock('k', { mode: 'shared', limit: 3 }, () => 1);
    // @ts-expect-error no exclusive lock with a limit, by a call
    await locks.acquire('k', { limit: 3, mode: 'exclusive' });
  }
}
