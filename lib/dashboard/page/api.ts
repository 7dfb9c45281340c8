import type { BreakRequest, LockAddress, Overview, ShownList, ShownLock } from '../wire.js';

/** How often a question is asked again that the application had no time for. */
const MOST_TRIES = 30;

/** What the application answered instead of data. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export function readOverview(): Promise<Overview> {
  return ask<Overview>({ data: 'overview' });
}

export function readLock({ key, instance }: LockAddress): Promise<ShownLock | null> {
  return ask<ShownLock | null>({ data: 'lock', key, instance: instance ?? '' });
}

export function readList(instance: string | null, match: string, cursor: string | null): Promise<ShownList> {
  return ask<ShownList>({
    data: 'list',
    instance: instance ?? '',
    match,
    ...(cursor !== null && { cursor }),
  });
}

export async function breakLock(request: BreakRequest): Promise<void> {
  await answerOf<unknown>(
    await fetch(location.pathname, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    }),
  );
}

/** At the page's own path, whatever that is. Waits its turn while the application asks the store for others. */
async function ask<T>(query: Record<string, string>): Promise<T> {
  for (let triesLeft = MOST_TRIES; ; triesLeft -= 1) {
    const response = await fetch(`?${new URLSearchParams(query).toString()}`, { cache: 'no-store' });
    if (response.status !== 429 || triesLeft === 0) return await answerOf<T>(response);
    const pause = Number(response.headers.get('retry-after') ?? '1') * 1_000;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

async function answerOf<T>(response: Response): Promise<T> {
  if (response.ok) return (await response.json()) as T;
  const answer = (await response.json().catch(() => null)) as { readonly message?: unknown } | null;
  const message = typeof answer?.message === 'string' ? answer.message : response.statusText;
  throw new Refusal(response.status, message);
}
