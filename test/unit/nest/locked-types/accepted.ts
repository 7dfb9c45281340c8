/** Code that must compile: `npm run typecheck`. Never run. */
import { Injectable } from '@nestjs/common';
import { Locked, type LockedOptions, type LockHandle, type LockService } from '../../../../lib/index.js';

interface Order {
  readonly sku: string;
}

interface PaidOrder extends Order {
  readonly paid: true;
}

const SHARED: LockedOptions<[id: string]> = { key: (id) => id, waitTime: 0 };
const SKIPPED: LockedOptions<[id: string], object, 'skip'> = { ...SHARED, onBusy: 'skip' };

@Injectable()
export class Accepted {
  readonly prefix = 'accepted';
  private readonly secret = 'private';

  constructor(readonly locks: LockService) {}

  @Locked({ key: 'k', waitTime: 3_000, leaseTime: 10_000, onLost: 'throw', instance: 'billing' })
  async allOptions(): Promise<void> {
    return Promise.resolve();
  }

  @Locked({
    key: (order: Order) => order.sku,
    label: (order: Order, amount: number) => `${amount} of ${order.sku}`,
    waitTime: (_order: Order, _amount: number, ms?: number) => ms,
    leaseTime: () => 10_000,
    holdAtLeast: 50,
    operation(this: Accepted, order: PaidOrder | Order) {
      return `${this.prefix} ${order.sku === '' ? 'none' : 'some'}`;
    },
  })
  async computed(order: PaidOrder, amount: number, ms?: number): Promise<string> {
    return Promise.resolve(`${order.sku} ${amount} ${ms ?? 0}`);
  }

  @Locked({ key: 'k', label: (order: Order) => order.sku, onBusy: (order: Order) => order.sku })
  async computedBesideFixedKey(order: Order, amount: number): Promise<string> {
    return Promise.resolve(`${order.sku} ${amount}`);
  }

  // A key function may take fewer parameters than the method.
  @Locked({ key: (order: Order) => order.sku })
  async wider(order: PaidOrder): Promise<PaidOrder> {
    return Promise.resolve(order);
  }

  @Locked({ key: (id?: string) => id ?? 'none' })
  async optional(id?: string): Promise<string | undefined> {
    return Promise.resolve(id);
  }

  @Locked({ key: (...ids: string[]) => ids.join() })
  async rest(...ids: string[]): Promise<number> {
    return Promise.resolve(ids.length);
  }

  @Locked({ key: (value: Order) => value.sku })
  async generic<T extends Order>(value: T): Promise<T> {
    return Promise.resolve(value);
  }

  @Locked({ key: ['a', 'b'] as const, holdAtLeast: 100 })
  async readonlyKeys(): Promise<void> {
    return Promise.resolve();
  }

  @Locked({ key: (orders: readonly Order[]) => orders.map(({ sku }) => sku) })
  async keysOfAll(orders: readonly PaidOrder[]): Promise<number> {
    return Promise.resolve(orders.length);
  }

  @Locked({ key: (order: Order | undefined) => (order === undefined ? 'none' : [order.sku, 'all']) })
  async oneOrSeveral(order?: Order): Promise<Order | undefined> {
    return Promise.resolve(order);
  }

  @Locked('k')
  protected async hidden(): Promise<LockHandle | undefined> {
    return Promise.resolve(this.locks.current('k'));
  }

  @Locked({ key: (id: string) => id, onBusy: 'skip' })
  async skipsToUndefined(id: string): Promise<string | undefined> {
    return Promise.resolve(id);
  }

  @Locked({ key: 'k', onBusy: 'skip' })
  async skipsToUnknown(): Promise<unknown> {
    return Promise.resolve();
  }

  @Locked({ key: 'k', onBusy: () => undefined })
  async replacesNothing(): Promise<void> {
    return Promise.resolve();
  }

  @Locked({ key: (id: string) => id, onBusy: (id: string, amount: number) => id.length + amount })
  async replacesWithMoreArguments(_id: string, amount: number): Promise<number> {
    return Promise.resolve(amount);
  }

  @Locked({
    key(id: string) {
      return `${this.prefix}:${this.secret}:${id}`;
    },
    onBusy(id: string) {
      return `${this.prefix} is busy with ${this.secret} ${id}`;
    },
  })
  async withThisKnown(id: string): Promise<string> {
    return Promise.resolve(id);
  }

  @Locked({
    key: function () {
      return this.prefix;
    },
  })
  async withThisOfAFunction(): Promise<void> {
    return Promise.resolve();
  }

  @Locked({
    key(this: { readonly prefix: string }) {
      return this.prefix;
    },
  })
  async withThisNarrower(): Promise<void> {
    return Promise.resolve();
  }

  @Locked(SHARED)
  async optionsFromElsewhere(id: string): Promise<string> {
    return Promise.resolve(id);
  }

  @Locked(SKIPPED)
  async skippedFromElsewhere(id: string): Promise<string | undefined> {
    return Promise.resolve(id);
  }
}
