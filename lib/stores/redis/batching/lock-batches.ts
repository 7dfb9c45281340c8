import {
  LockStoreError,
  type AskReply,
  type AskRequest,
  type OwnerRequest,
  type ReleaseReply,
  type ReserveReply,
  type ReserveRequest,
} from '../../port/lock-store.js';
import type { LockCalls } from '../scripts/lock-calls.js';
import type { TakeReply } from '../scripts/replies.js';
import type { Pipeline } from './pipeline.js';
import { ScriptBatch } from './script-batch.js';

/** What is gathered within a tick, each kind by itself. */
export interface LockBatches {
  /** For exclusive locks. */
  readonly takes: ScriptBatch<AskRequest, TakeReply, AskReply>;
  readonly shares: ScriptBatch<AskRequest, TakeReply, AskReply>;
  /** For holds that wait for their tokens. */
  readonly reserves: ScriptBatch<ReserveRequest, ReserveReply, ReserveReply>;
  /** For holds to come. */
  readonly blocks: ScriptBatch<ReserveRequest, ReserveReply, ReserveReply>;
  readonly releases: ScriptBatch<OwnerRequest, ReleaseReply | LockStoreError, ReleaseReply>;
}

/**
 * @param slotOf of a key, where requests of several slots can't share a call
 * @param taken what the reply to a take means
 */
export function lockBatches(
  pipeline: Pipeline,
  calls: LockCalls,
  slotOf: ((key: string) => number) | undefined,
  taken: (request: AskRequest, reply: TakeReply) => AskReply | Promise<AskReply>,
): LockBatches {
  const reserves = (): LockBatches['reserves'] =>
    new ScriptBatch(
      pipeline,
      slotOf,
      (requests) => calls.reserve(requests),
      (_, reply) => reply,
    );
  return {
    takes: new ScriptBatch(pipeline, slotOf, (requests) => calls.take(requests), taken),
    shares: new ScriptBatch(pipeline, slotOf, (requests) => calls.share(requests), taken),
    reserves: reserves(),
    blocks: reserves(),
    releases: new ScriptBatch(pipeline, slotOf, (requests) => calls.release(requests), released, true),
  };
}

/** What fails for one lock is no matter of the others. */
function released(_: OwnerRequest, reply: ReleaseReply | LockStoreError): ReleaseReply {
  if (reply instanceof LockStoreError) throw reply;
  return reply;
}
