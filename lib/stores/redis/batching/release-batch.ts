import { LockStoreError, type OwnerRequest, type ReleaseReply } from '../../port/lock-store.js';
import type { LockCalls } from '../scripts/lock-calls.js';
import type { Pipeline } from './pipeline.js';
import { ScriptBatch } from './script-batch.js';

/** Releases of one tick go together; what fails for one lock is no matter of the others. */
export function releaseBatch(
  pipeline: Pipeline,
  slotOf: ((key: string) => number) | undefined,
  calls: LockCalls,
): ScriptBatch<OwnerRequest, ReleaseReply | LockStoreError, ReleaseReply> {
  return new ScriptBatch(
    pipeline,
    slotOf,
    (requests) => calls.release(requests),
    (_, reply) => {
      if (reply instanceof LockStoreError) throw reply;
      return reply;
    },
    true,
  );
}
