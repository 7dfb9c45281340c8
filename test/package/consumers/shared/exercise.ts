import type { INestApplicationContext } from '@nestjs/common';
import { LockError, LockService, LockTimeoutError } from 'nestjs-distributed-lock';
import { Stock } from './shop.js';

export interface Exercise {
  decorated: number;
  injected: number;
  returned: string;
  tokensGrow: boolean;
  busy: string;
  left: boolean;
}

const TIMES = 10;

/** Uses every method of the service, and returns the results. */
export async function exercise(app: INestApplicationContext): Promise<Exercise> {
  const stock = app.get(Stock);
  const locks = app.get(LockService);
  const all = Array.from({ length: TIMES }, () => undefined);
  const answers = await Promise.all(all.map(() => stock.take('book')));
  await Promise.all(all.map(() => stock.count()));

  const first = await locks.acquire('hold');
  const busy = await locks.acquire('hold', { waitTime: 0 }).then(
    () => 'not busy',
    (error: unknown) =>
      error instanceof LockTimeoutError && error instanceof LockError ? error.code : 'another error',
  );
  await first.release();
  const second = await locks.acquire('hold');
  await second.release();

  return {
    decorated: stock.byDecorator.value,
    injected: stock.byService.value,
    returned: [...new Set(answers)].join(),
    tokensGrow: second.token > first.token,
    busy,
    left: await locks.isLocked('hold'),
  };
}
