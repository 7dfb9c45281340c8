import { Injectable, Module } from '@nestjs/common';
import {
  AggregateRoot,
  CommandBus,
  CommandHandler,
  CqrsModule,
  EventBus,
  EventPublisher,
  EventsHandler,
  ofType,
  Saga,
  type ICommandHandler,
  type IEventHandler,
} from '@nestjs/cqrs';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Test, type TestingModule } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { map, type Observable } from 'rxjs';
import { DistributedLockModule, Locked, LockService } from '../../../lib/index.js';
import { LogRecorder } from '../../support/lock-app.js';
import { until } from '../../support/until.js';
import { Gate } from '../nest/gate.js';

class Paid {}

class Ship {}

class Order extends AggregateRoot {
  pay(): void {
    this.apply(new Paid());
  }
}

/** The locked work of a listener, which goes on until the test opens its gate. */
@Injectable()
class Listener {
  gate = new Gate();
  held: boolean | undefined;

  constructor(private readonly locks: LockService) {}

  @Locked('order')
  async work(): Promise<void> {
    await this.gate.pass();
    this.held = this.locks.current('order')?.isHeld;
  }

  @OnEvent('paid')
  @Locked('order')
  async emitted(): Promise<void> {
    await this.work();
  }
}

@EventsHandler(Paid)
class PaidHandler implements IEventHandler<Paid> {
  constructor(private readonly listener: Listener) {}

  handle(): Promise<void> {
    return this.listener.work();
  }
}

/** A saga on its own event, so that the handler above does not run for it. */
class Packed {}

@CommandHandler(Ship)
class ShipHandler implements ICommandHandler<Ship> {
  constructor(private readonly listener: Listener) {}

  execute(): Promise<void> {
    return this.listener.work();
  }
}

@Injectable()
class Sagas {
  @Saga()
  packed = (events: Observable<object>): Observable<Ship> =>
    events.pipe(
      ofType(Packed),
      map(() => new Ship()),
    );
}

@Module({
  imports: [
    DistributedLockModule.forRoot({ store: 'memory', waitTime: 0 }),
    EventEmitterModule.forRoot(),
    CqrsModule.forRoot(),
  ],
  providers: [Listener, PaidHandler, ShipHandler, Sagas],
})
class AppModule {}

describe('a listener that the publisher does not wait for', () => {
  let module: TestingModule;
  let log: LogRecorder;

  beforeEach(async () => {
    log = new LogRecorder();
    module = await Test.createTestingModule({ imports: [AppModule] })
      .setLogger(log)
      .compile();
    await module.init();
  });
  afterEach(() => module.close());

  const publishers: Readonly<Record<string, () => unknown>> = {
    'emit()': () => module.get(EventEmitter2).emit('paid'),
    'EventBus.publish()': () => void module.get(EventBus).publish(new Paid()),
    'AggregateRoot.commit()': () => {
      const order = module.get(EventPublisher).mergeObjectContext(new Order());
      order.pay();
      order.commit();
    },
    'a saga': () => void module.get(EventBus).publish(new Packed()),
    'CommandBus.execute() without await': () => void module.get(CommandBus).execute(new Ship()),
  };

  it.each(Object.entries(publishers))(
    'B53: keeps the lock that it re-entered by %s until it ends',
    async (_, publish) => {
      const locks = module.get(LockService);
      const listener = module.get(Listener);
      await locks.withLock('order', async () => {
        publish();
        await listener.gate.reached;
      });
      expect(await locks.tryAcquire('order')).toBeNull();
      listener.gate.open();
      await until('the lock is free', async () => !(await locks.isLocked('order')));
      expect(listener.held).toBe(true);
      expect(log.matching('lost')).toEqual([]);
    },
  );
});
