import type { BreakRequest, LockAddress, Overview, ShownList, ShownLock } from '../wire.js';

/** Retries of a request that the application answers with 429. */
const MOST_RETRIES = 30;

/** An error response of the application. */
export class ErrorResponse extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export function readOverview(): Promise<Overview> {
  return get<Overview>({ data: 'overview' });
}

export function readLock({ key, instance }: LockAddress): Promise<ShownLock | null> {
  return get<ShownLock | null>({ data: 'lock', key, instance: instance ?? '' });
}

export function readList(instance: string | null, cursor: string | null): Promise<ShownList> {
  return get<ShownList>({ data: 'list', instance: instance ?? '', ...(cursor !== null && { cursor }) });
}

export async function breakLock(request: BreakRequest): Promise<void> {
  await dataOf<unknown>(
    await fetch(location.pathname, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    }),
  );
}

/** Requests the page's own path. Retries while the application is busy with the requests of other visitors. */
async function get<T>(query: Record<string, string>): Promise<T> {
  for (let retriesLeft = MOST_RETRIES; ; retriesLeft -= 1) {
    const response = await fetch(`?${new URLSearchParams(query).toString()}`, { cache: 'no-store' });
    if (response.status !== 429 || retriesLeft === 0) return await dataOf<T>(response);
    const pause = Number(response.headers.get('retry-after') ?? '1') * 1_000;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

async function dataOf<T>(response: Response): Promise<T> {
  if (response.ok) return (await response.json()) as T;
  const body = (await response.json().catch(() => null)) as { readonly message?: unknown } | null;
  const message = typeof body?.message === 'string' ? body.message : response.statusText;
  throw new ErrorResponse(response.status, message);
}
