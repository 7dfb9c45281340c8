/** The most entries of a process in the queue of one key. */
const MOST_ENTRIES = 64;

/** What must be true of the machine of a key between two events; one sentence for each violation. */
export function violationsOf(machine) {
  const { waiting, leases, queue } = machine;
  const callers = [...waiting];
  const [first] = leases;
  const [head] = callers;
  const mayServe = ({ limit, permits }) => limit !== head?.limit || permits === head.permits;
  const isLeft = head !== undefined && queue.size === 0 && !leases.some(mayServe);
  return [
    ...violationsOfQueue(queue, callers),
    leases.some(({ limit }) => limit !== first.limit) && 'leases of two limits',
    first?.limit === 1 && leases.length > 1 && 'two exclusive leases',
    leases.some(({ isParked, users }) => isParked && users > 0) && 'a parked lease is in use',
    callers.some(({ isSettled }) => isSettled) && 'a settled caller still waits',
    isLeft && 'callers wait, and nothing will serve them',
  ].filter((text) => typeof text === 'string');
}

function violationsOfQueue({ entries, freed }, callers) {
  const positions = entries.map(({ caller }) => (caller === undefined ? -1 : callers.indexOf(caller)));
  const isDisordered = positions.some((each, index) => index > 0 && each <= positions[index - 1]);
  return [
    entries.length > MOST_ENTRIES && 'too many entries',
    [...entries, ...freed].some(({ state }) => state === 'gone') && 'an entry that is gone is kept',
    freed.some(({ caller }) => caller !== undefined) && 'an entry without need has a caller',
    freed.some(({ state }) => state !== 'asking') && 'an entry without a caller pauses',
    positions.includes(-1) && 'an entry has a caller that does not wait',
    isDisordered && 'entries out of order',
    entries.length > 0 && positions[0] !== 0 && entries[0].limit === 1 && 'the head has no entry',
  ];
}
