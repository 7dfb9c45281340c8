import { setTimeout as elapse } from 'node:timers/promises';

/** A cluster rejects membership changes until its members have been connected for some seconds. */
const PATIENCE = 60_000;
const PAUSE = 100;

/**
 * Removes a member from its cluster and adds it again as a new, empty member.
 *
 * @param {string} peerUrl the URL for other members
 * @param {readonly { port: number }[]} others the members that carry out the change
 */
export async function replaceMember(peerUrl, others) {
  // A reply may be lost: only the list of members counts.
  await change(others, peerUrl, (member) => member && ['remove', { ID: member.ID }]);
  await change(others, peerUrl, (member) => (member ? undefined : ['add', { peerURLs: [peerUrl] }]));
}

/** Repeats the request until the list of members is as wanted. */
async function change(others, peerUrl, next) {
  let failure;
  for (let attempt = 0; attempt * PAUSE < PATIENCE; attempt++) {
    const { port } = others[attempt % others.length];
    try {
      const { members } = await ask(port, 'list', { linearizable: true });
      const request = next(members.find(({ peerURLs }) => peerURLs.includes(peerUrl)));
      if (request === undefined) return;
      await ask(port, ...request);
    } catch (error) {
      failure = error;
    }
    await elapse(PAUSE);
  }
  throw new Error('the members of etcd could not be changed', { cause: failure });
}

async function ask(port, what, body) {
  const answer = await fetch(`http://127.0.0.1:${port}/v3/cluster/member/${what}`, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(5_000),
  });
  if (!answer.ok) throw new Error(`etcd answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}
