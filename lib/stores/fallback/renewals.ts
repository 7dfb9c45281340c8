import {
  LockStoreError,
  type LockStoreSession,
  type RenewReply,
  type RenewRequest,
} from '../port/lock-store.js';

type Renew = LockStoreSession['renew'];

/** An answer for each request, in order. */
export type Renewals = readonly (RenewReply | LockStoreError)[];

/** Renews holds of two stores: one answer for each, in order, whatever becomes of the others. */
export async function renewBoth(
  requests: readonly RenewRequest[],
  isFirst: (request: RenewRequest) => boolean,
  renewFirst: Renew,
  renewSecond: Renew,
): Promise<Renewals> {
  const replies = new Map<RenewRequest, RenewReply | LockStoreError | undefined>();
  const renew = async (part: readonly RenewRequest[], inStore: Renew): Promise<void> => {
    if (part.length === 0) return;
    try {
      const answers = await inStore(part);
      part.forEach((request, index) => replies.set(request, answers[index]));
    } catch (error) {
      for (const request of part) replies.set(request, asFailure(error));
    }
  };
  await Promise.all([
    renew(requests.filter(isFirst), renewFirst),
    renew(
      requests.filter((request) => !isFirst(request)),
      renewSecond,
    ),
  ]);
  return requests.map((request) => replies.get(request) ?? asFailure('it was not answered'));
}

function asFailure(error: unknown): LockStoreError {
  if (error instanceof LockStoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new LockStoreError(message, { inDoubt: true, retryable: true, cause: error });
}
