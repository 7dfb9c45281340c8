import type { BreakRequest, LockAddress, Overview, ShownList, ShownLock } from '../wire.js';

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
    fetch(location.pathname, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    }),
  );
}

/** At the page's own path, whatever that is. */
function ask<T>(query: Record<string, string>): Promise<T> {
  return answerOf<T>(fetch(`?${new URLSearchParams(query).toString()}`, { cache: 'no-store' }));
}

async function answerOf<T>(request: Promise<Response>): Promise<T> {
  const response = await request;
  if (response.ok) return (await response.json()) as T;
  const answer = (await response.json().catch(() => null)) as { readonly message?: unknown } | null;
  const message = typeof answer?.message === 'string' ? answer.message : response.statusText;
  throw new Refusal(response.status, message);
}
