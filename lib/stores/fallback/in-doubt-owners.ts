import { LockStoreError, type OwnerId, type OwnerRequest } from '../port/lock-store.js';

/**
 * Owners that asked twice, and whose first request may still be under way. The engine has heard of the second one only,
 * so the store is told here that the first may come late (P32).
 */
export class InDoubtOwners {
  private readonly owners = new Set<OwnerId>();

  add(owner: OwnerId): void {
    this.owners.add(owner);
  }

  has(owner: OwnerId): boolean {
    return this.owners.has(owner);
  }

  /** It is cancelled in another way. */
  remove(owner: OwnerId): void {
    this.owners.delete(owner);
  }

  /** What the failure of the second request says of both. */
  failureOf(owner: OwnerId, error: unknown): unknown {
    if (!this.has(owner) || !(error instanceof LockStoreError) || error.inDoubt) return error;
    const { message, retryable, unreachable } = error;
    return new LockStoreError(message, { inDoubt: true, retryable, unreachable, cause: error });
  }

  /**
   * Cancels or releases the owner in the store.
   *
   * @param onFailure called when the store could not be told
   */
  end<T>(
    request: OwnerRequest,
    send: (request: OwnerRequest) => PromiseLike<T>,
    onFailure: (owner: OwnerId, key: string) => void,
  ): PromiseLike<T> {
    const { key, owner } = request;
    if (!this.has(owner)) return send(request);
    return send({ ...request, inDoubt: true }).then(
      (reply) => {
        this.remove(owner);
        return reply;
      },
      (error: unknown) => {
        onFailure(owner, key);
        throw error;
      },
    );
  }
}
