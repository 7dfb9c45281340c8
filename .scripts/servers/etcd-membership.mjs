import { setTimeout as elapse } from 'node:timers/promises';
import { askEtcd } from './etcd.mjs';

/** A cluster rejects membership changes until its members have been connected for some seconds. */
const PATIENCE = 60_000;
const PAUSE = 100;

/**
 * Removes a member from its cluster and adds it again as a new, empty member.
 *
 * @param {string} peerUrl the URL for other members
 * @param {readonly { port: number }[]} others the members that carry out the change
 * @returns {Promise<void>}
 */
export async function replaceMember(peerUrl, others) {
  // A reply may be lost: only the list of members counts.
  await change(others, peerUrl, (member) => member && ['cluster/member/remove', { ID: member.ID }]);
  await change(others, peerUrl, (member) =>
    member ? undefined : ['cluster/member/add', { peerURLs: [peerUrl] }],
  );
}

/** Repeats the request until the list of members is as wanted. */
async function change(others, peerUrl, next) {
  let failure;
  for (let attempt = 0; attempt * PAUSE < PATIENCE; attempt++) {
    const other = others[attempt % others.length];
    try {
      const { members } = await askEtcd(other, 'cluster/member/list', { linearizable: true });
      const request = next(members.find(({ peerURLs }) => peerURLs.includes(peerUrl)));
      if (request === undefined) return;
      await askEtcd(other, ...request);
    } catch (error) {
      failure = error;
    }
    await elapse(PAUSE);
  }
  throw new Error('the members of etcd could not be changed', { cause: failure });
}
