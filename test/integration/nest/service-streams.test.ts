import { Injectable } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  defer,
  firstValueFrom,
  lastValueFrom,
  Observable,
  of,
  range,
  Subject,
  take,
  tap,
  throwError,
  toArray,
} from 'rxjs';
import {
  DistributedLockModule,
  Locked,
  LockOptionsError,
  LockService,
  LockTimeoutError,
} from '../../../lib/index.js';
import { rejectionOf, until, within } from '../../support/until.js';
import { HttpApps, type HttpApp } from './http-app.js';

describe('a locked stream of a service', () => {
  const apps = new HttpApps();

  const sources: Subject<string>[] = [];
  @Injectable()
  class Feeds {
    constructor(private readonly locks: LockService) {}

    @Locked({ key: (name: string) => `feed:${name}`, waitTime: 10_000 })
    follow(name: string): Observable<string> {
      const inside = this.locks.current(`feed:${name}`)?.isHeld;
      const source = new Subject<string>();
      sources.push(source);
      return new Observable((subscriber) => {
        subscriber.next(`${name} ${inside === true ? 'locked' : 'not locked'}`);
        return source.subscribe(subscriber);
      });
    }

    @Locked('failing')
    failing(): Observable<string> {
      return throwError(() => new Error('from the stream'));
    }

    @Locked('throwing')
    throwing(): Observable<string> {
      throw new Error('from the method');
    }

    @Locked({ key: 'busy', waitTime: 0, onBusy: 'skip' })
    skipping(): Observable<string> {
      return of('not skipped');
    }

    @Locked({ key: 'busy', waitTime: 0, onBusy: () => 'instead' })
    replaced(): Observable<string> {
      return of('not replaced');
    }

    @Locked({ key: 'busy', waitTime: 0, onBusy: () => of('another', 'stream') })
    streamedInstead(): Observable<string> {
      return of('not replaced');
    }

    produced = 0;

    @Locked('restless')
    restless(): Observable<number> {
      return range(1, 1_000).pipe(tap(() => (this.produced += 1)));
    }

    @Locked({ key: 'busy', waitTime: 0 })
    refusing(): Observable<string> {
      return of('not refused');
    }

    // Its declared type is not a class, so the metadata does not show an Observable.
    @Locked({ key: 'said', returns: 'observable' })
    said(): Observable<string> | Observable<number> {
      return defer(() => of(this.locks.current('said')?.isHeld === true ? 'locked' : 'not locked'));
    }

    @Locked('unsaid')
    unsaid(): Observable<string> | Observable<number> {
      return of('never seen');
    }
  }

  let app: HttpApp;
  let feeds: Feeds;
  const isHeld = (key: string): Promise<boolean> => app.locks.isLocked(key);
  const begin = async (): Promise<void> => {
    sources.splice(0);
    app = await apps.start({
      imports: [DistributedLockModule.forRoot({ store: 'memory' })],
      providers: [Feeds],
    });
    feeds = app.nest.get(Feeds);
  };

  it.each(['completes', 'fails', 'is unsubscribed'])(
    'B34: is locked from its subscription until it %s',
    async (how) => {
      await begin();
      const stream = feeds.follow('a');
      expect(await isHeld('feed:a')).toBe(false);
      expect(sources).toHaveLength(0);
      const seen: string[] = [];
      const ended = new Promise<void>((resolve) => {
        const subscription = stream.subscribe({
          next: (value) => {
            seen.push(value);
            if (value === 'enough') {
              subscription.unsubscribe();
              resolve();
            }
          },
          error: (error: Error) => {
            seen.push(error.message);
            resolve();
          },
          complete: () => {
            seen.push('complete');
            resolve();
          },
        });
      });
      await until('it has begun', () => seen.length > 0);
      expect(await isHeld('feed:a')).toBe(true);
      const released = app.next('released', 'feed:a');
      if (how === 'completes') sources[0]?.complete();
      if (how === 'fails') sources[0]?.error(new Error('broken'));
      if (how === 'is unsubscribed') sources[0]?.next('enough');
      await within(5_000, 'the end', ended);
      const last = { completes: 'complete', fails: 'broken', 'is unsubscribed': 'enough' }[how];
      expect(seen).toEqual(['a locked', last]);
      // Unsubscribing does not wait for the release; a stream completes or fails after it.
      if (how === 'is unsubscribed') {
        await within(5_000, 'the release', released);
        await until('it is free', async () => !(await isHeld('feed:a')));
      }
      expect(await isHeld('feed:a')).toBe(false);
      expect(sources[0]?.observed).toBe(false);
    },
  );

  it('B34: each subscription acquires the lock and calls the method separately', async () => {
    await begin();
    const stream = feeds.follow('a');
    const first = firstValueFrom(stream.pipe(toArray()));
    await until('the first has begun', () => sources.length === 1);
    const queued = app.next('queued', 'feed:a');
    const second = firstValueFrom(stream.pipe(toArray()));
    await within(5_000, 'the second to wait', queued);
    expect(sources).toHaveLength(1);
    sources[0]?.next('x');
    sources[0]?.complete();
    expect(await first).toEqual(['a locked', 'x']);
    await until('the second has begun', () => sources.length === 2);
    sources[1]?.complete();
    expect(await second).toEqual(['a locked']);
  });

  it('B51, B34: the consumer runs outside of every scope', async () => {
    await begin();
    const seen: unknown[] = ['uncalled'];
    await lastValueFrom(
      feeds.skipping().pipe(tap(() => (seen[0] = app.nest.get(LockService).current('busy')))),
    );
    expect(seen).toEqual([undefined]);
  });

  it('B34: unsubscribing during the wait leaves the queue and calls nothing', async () => {
    await begin();
    const holder = await app.locks.acquire('feed:a');
    const queued = app.next('queued', 'feed:a');
    const subscription = feeds.follow('a').subscribe();
    await within(5_000, 'it to wait', queued);
    subscription.unsubscribe();
    await until('no subscription waits', async () => (await app.admin.inspect('feed:a'))?.waiting === 0);
    await holder.release();
    expect(sources).toHaveLength(0);
  });

  it('B34, B35: errors of the stream and of the method reach the subscriber, after the release', async () => {
    await begin();
    expect(await rejectionOf(firstValueFrom(feeds.failing()))).toEqual(new Error('from the stream'));
    expect(await isHeld('failing')).toBe(false);
    expect(await rejectionOf(firstValueFrom(feeds.throwing()))).toEqual(new Error('from the method'));
    expect(await isHeld('throwing')).toBe(false);
  });

  it('B36: a busy stream ends without a value, or with the one of onBusy, or with the error', async () => {
    await begin();
    const holder = await app.locks.acquire('busy');
    expect(await firstValueFrom(feeds.skipping().pipe(toArray()))).toEqual([]);
    expect(await firstValueFrom(feeds.replaced().pipe(toArray()))).toEqual(['instead']);
    expect(await firstValueFrom(feeds.streamedInstead().pipe(toArray()))).toEqual(['another', 'stream']);
    expect(await rejectionOf(firstValueFrom(feeds.refusing()))).toBeInstanceOf(LockTimeoutError);
    await holder.release();
    expect(await firstValueFrom(feeds.skipping().pipe(toArray()))).toEqual(['not skipped']);
  });

  it('B34: a stream that never pauses stops with its subscription', async () => {
    await begin();
    expect(await firstValueFrom(feeds.restless().pipe(take(2), toArray()))).toEqual([1, 2]);
    expect(feeds.produced).toBe(2);
    await until('it is free', async () => !(await isHeld('restless')));
  });

  it("B34: returns: 'observable' replaces missing compiler metadata", async () => {
    await begin();
    const stream = feeds.said();
    expect(stream).toBeInstanceOf(Observable);
    expect(await lastValueFrom<unknown>(stream)).toBe('locked');
    expect(await isHeld('said')).toBe(false);
  });

  it('B34: an undeclared Observable is rejected with a remedy', async () => {
    await begin();
    const error = await rejectionOf(feeds.unsaid() as unknown as Promise<unknown>);
    expect(error).toBeInstanceOf(LockOptionsError);
    expect((error as Error).message).toContain('@Locked on Feeds.unsaid');
    expect((error as Error).message).toContain("returns: 'observable'");
    expect(await isHeld('unsaid')).toBe(false);
  });
});
