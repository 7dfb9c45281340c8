import type { LockStoreError, RenewReply, RenewRequest } from './lock-store.js';
import { storeFailure } from './store-failure.js';

/** A reply for each request, in order. */
export type RenewReplies = readonly (RenewReply | LockStoreError)[];

/** Renews holds that are kept in several places, each place by itself: what fails in one is no matter of the others. */
export async function renewInParts<Part>(
  requests: readonly RenewRequest[],
  partOf: (request: RenewRequest) => Part,
  renew: (part: Part, requests: readonly RenewRequest[]) => Promise<RenewReplies>,
): Promise<RenewReplies> {
  const parts = new Map<Part, RenewRequest[]>();
  for (const request of requests) {
    const part = partOf(request);
    const others = parts.get(part);
    if (others === undefined) parts.set(part, [request]);
    else others.push(request);
  }
  const [only, ...others] = parts.keys();
  if (only !== undefined && others.length === 0) return await renew(only, requests);
  const replies = new Map<RenewRequest, RenewReply | LockStoreError | undefined>();
  await Promise.all(
    [...parts].map(async ([part, some]) => {
      try {
        const received = await renew(part, some);
        some.forEach((request, index) => replies.set(request, received[index]));
      } catch (error) {
        for (const request of some) replies.set(request, storeFailure(error));
      }
    }),
  );
  return requests.map((request) => replies.get(request) ?? storeFailure('it was not answered'));
}
