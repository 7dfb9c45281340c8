import { LockUnavailableError } from '../../lib/index.js';
import { LockStoreError } from '../../lib/stores/port/index.js';
import { until } from './until.js';

/** Retries until the store is reachable: servers may elect a leader, or be too busy to reply in time. */
export async function reached<T>(ask: () => Promise<T>): Promise<T> {
  const attempt = async (): Promise<{ readonly answer: T } | undefined> => {
    try {
      return { answer: await ask() };
    } catch (error) {
      if (error instanceof LockUnavailableError) return undefined;
      if (error instanceof LockStoreError && error.retryable) return undefined;
      throw error;
    }
  };
  return (await until('the store replies', attempt, { deadline: 60_000, every: 20 })).answer;
}
