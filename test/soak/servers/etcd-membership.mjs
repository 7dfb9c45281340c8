import { setTimeout as elapse } from 'node:timers/promises';

/** A cluster refuses changes while its members have not been connected for some seconds. */
const PATIENCE = 60_000;
const PAUSE = 100;

/**
 * Takes a member out of its cluster and gives it a new place there, in which it has to start with nothing.
 *
 * @param {string} peerUrl where the other members reach it
 * @param {readonly { port: number }[]} others those whom an operator asks for that
 */
export async function renewPlace(peerUrl, others) {
  // An answer may be lost: what counts is who is listed.
  await change(others, peerUrl, (place) => place && ['remove', { ID: place.ID }]);
  await change(others, peerUrl, (place) => (place ? undefined : ['add', { peerURLs: [peerUrl] }]));
}

/** Asks again and again for what is still to be done. */
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
