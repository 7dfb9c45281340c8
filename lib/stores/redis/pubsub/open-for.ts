import type { LockStoreClient, OwnerId } from '../../port/lock-store.js';
import type { GrantChannel } from './grant-channel.js';

/**
 * Opens the channel for an owner that is to wait. Answers whether it still wants to when that has taken its time: else the
 * lock would be granted to nobody, and others would wait until that has been taken back.
 */
export async function openFor(
  owner: OwnerId,
  channel: GrantChannel,
  client: LockStoreClient,
): Promise<boolean> {
  client.heldBack(owner);
  await channel.open();
  return client.resumes(owner);
}
