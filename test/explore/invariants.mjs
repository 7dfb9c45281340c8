/** The most tickets of a process that wait for one key. */
const MOST_TICKETS = 64;

/** What must be true of the line of a key between two events; one sentence for each violation. */
export function violationsOf(line) {
  const { waiting, held, wanted, unwanted } = line;
  const callers = [...waiting];
  const [first] = held;
  const [head] = callers;
  const mayServe = ({ limit, permits }) => limit !== head?.limit || permits === head.permits;
  const isLeft = head !== undefined && wanted.length === 0 && !held.some(mayServe);
  return [
    ...violationsOfWaiting(wanted, unwanted, callers),
    held.some(({ state }) => state !== 'held') && 'a ticket that has ended is kept',
    held.some(({ limit }) => limit !== first.limit) && 'held tickets of two limits',
    first?.limit === 1 && held.length > 1 && 'two exclusive tickets',
    held.some(({ isIdle, users }) => isIdle && users > 0) && 'an idle ticket is in use',
    callers.some(({ isSettled }) => isSettled) && 'a settled caller still waits',
    isLeft && 'callers wait, and nothing will serve them',
  ].filter((text) => typeof text === 'string');
}

function violationsOfWaiting(wanted, unwanted, callers) {
  const places = wanted.map(({ caller }) => (caller === undefined ? -1 : callers.indexOf(caller)));
  const isDisordered = places.some((each, index) => index > 0 && each <= places[index - 1]);
  const isWaiting = ({ state }) => state === 'asking' || state === 'queued' || state === 'pausing';
  return [
    wanted.length > MOST_TICKETS && 'too many tickets',
    ![...wanted, ...unwanted].every(isWaiting) &&
      'a ticket that is gone or held is kept among those that wait',
    unwanted.some(({ caller }) => caller !== undefined) && 'a ticket without need has a caller',
    unwanted.some(({ state }) => state !== 'asking') && 'a ticket without a caller pauses',
    places.includes(-1) && 'a ticket has a caller that does not wait',
    isDisordered && 'tickets out of order',
    wanted.length > 0 && places[0] !== 0 && wanted[0].limit === 1 && 'the head has no ticket',
  ];
}
