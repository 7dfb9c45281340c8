import type { OwnerId } from '../port/lock-store.js';

/** The name of an owner at a member that has released it so many times: no name is used there again. */
export function ownerName(owner: OwnerId, releases: number): OwnerId {
  return (releases === 0 ? owner : `${owner}.${String(releases)}`) as OwnerId;
}

/** The owner to which a name at a member belongs. */
export function baseOf(name: string): OwnerId {
  return name.replace(/\.\d+$/, '') as OwnerId;
}
