/** A holds a lock, and B waits. */
const QUEUED_AT_THE_SERVER = [
  ...['A calls exclusive', 'A reaches the store', 'A gets an answer'],
  ...['B calls exclusive', 'B reaches the store', 'B gets an answer'],
];

/** What is explored: kinds of callers and what may go wrong, see `World`. */
export const SCENARIOS = {
  'one process': { processes: 1, callers: 5, leaves: 2, steps: 1, kinds: ['exclusive'] },
  exclusive: { processes: 2, callers: 5, kinds: ['exclusive'] },
  'three processes': { processes: 3, callers: 4, kinds: ['exclusive'] },
  'with timeouts': { processes: 2, callers: 4, leaves: 2, kinds: ['exclusive'] },
  'strict order': { processes: 2, callers: 5, steps: 1, kinds: ['fair'] },
  'strict order beside others': { processes: 2, callers: 4, steps: 1, kinds: ['fair', 'exclusive'] },
  readers: { processes: 2, callers: 4, steps: 1, kinds: ['reader', 'exclusive'] },
  permits: { processes: 2, callers: 5, steps: 1, kinds: ['permit'] },
  'permits and timeouts': { processes: 2, callers: 4, leaves: 2, kinds: ['permit'] },
  'several permits': { processes: 2, callers: 5, steps: 1, kinds: ['permit', 'pair'] },
  'several permits and timeouts': { processes: 2, callers: 4, leaves: 2, kinds: ['permit', 'pair'] },
  'two of three permits': { processes: 2, callers: 4, steps: 1, kinds: ['third', 'most'] },
  'several permits of one process': { processes: 1, callers: 4, kinds: ['third', 'most'] },
  'lost messages of several permits': {
    processes: 2,
    callers: 3,
    losses: 1,
    polls: 1,
    leaves: 1,
    kinds: ['permit', 'pair'],
  },
  'other limits': { processes: 2, callers: 4, kinds: ['permit', 'exclusive'] },
  'leases of their own': { processes: 2, callers: 4, kinds: ['timed', 'exclusive'] },
  'lost messages': { processes: 2, callers: 3, losses: 2, polls: 2, leaves: 1, kinds: ['exclusive'] },
  'lost messages of readers': {
    processes: 2,
    callers: 3,
    losses: 1,
    polls: 1,
    steps: 1,
    kinds: ['reader', 'exclusive'],
  },
  'a planned failover': { processes: 2, callers: 4, failovers: 2, polls: 1, kinds: ['exclusive'] },
  'after a planned failover': {
    processes: 2,
    callers: 4,
    failovers: 1,
    polls: 1,
    kinds: ['exclusive'],
    start: [...QUEUED_AT_THE_SERVER, 'the server fails over'],
  },
  'a planned failover of readers': {
    processes: 2,
    callers: 4,
    failovers: 1,
    polls: 1,
    leaves: 1,
    kinds: ['reader', 'exclusive'],
  },
  'a lost release': { processes: 2, callers: 4, crashes: 1, polls: 1, leaves: 1, kinds: ['exclusive'] },
  'lost leases': { processes: 2, callers: 4, expiries: 2, leaves: 1, kinds: ['exclusive'] },
  'lost leases of readers': {
    processes: 2,
    callers: 4,
    expiries: 1,
    steps: 1,
    kinds: ['reader', 'exclusive'],
  },
};

const PLAIN = { limits: [1, 1], prompt: true };

/** Each member has granted the lock to another process. */
const SPLIT = [
  ...['A calls', 'B calls', 'C calls'],
  ...['A 1', 'B 2', 'C 3', 'A 2', 'B 3', 'C 1', 'A 3', 'B 1', 'C 2'].map((at) => `${at} request arrives`),
];

/** What is explored of a quorum: see `QuorumWorld`. */
export const QUORUM_SCENARIOS = {
  'a quorum': { ...PLAIN, calls: 3 },
  'answers in any order': { ...PLAIN, calls: 2, prompt: false },
  'late answers': { ...PLAIN, calls: 2, steps: 4, polls: 1, prompt: false },
  'lost answers': { ...PLAIN, calls: 2, losses: 2, polls: 2, steps: 2, prompt: false },
  'callers that leave': { ...PLAIN, calls: 3, leaves: 2, steps: 2, polls: 1 },
  'single tries': { ...PLAIN, calls: 1, tries: 2, steps: 2, polls: 1 },
  'a member is away': { ...PLAIN, calls: 2, outages: 2, steps: 3, polls: 2 },
  'leases end': { ...PLAIN, calls: 2, leaps: 2, steps: 1, polls: 1, renewals: 1 },
  'a member loses its data': { ...PLAIN, calls: 3, outages: 1, lostData: 1, polls: 1, steps: 1 },
  'reserved tokens': { ...PLAIN, calls: 2, reserves: 2, renewals: 1, losses: 1, outages: 1 },
  'broken holds': { ...PLAIN, calls: 3, breaks: 2, polls: 1, steps: 1 },
  permits: { ...PLAIN, limits: [2, 2, 2], calls: 3, steps: 2 },
  'several permits': { ...PLAIN, limits: [3, 3, 3], permits: [1, 2, 2], calls: 3, steps: 2, polls: 2 },
  'readers and a writer': { ...PLAIN, limits: [Infinity, Infinity, 1], calls: 4, steps: 2 },
  'a split': { ...PLAIN, limits: [1, 1, 1], calls: 3, steps: 12, polls: 2, start: SPLIT },
  'a split of readers': {
    ...PLAIN,
    limits: [Infinity, Infinity, 1],
    calls: 3,
    steps: 12,
    polls: 2,
    start: SPLIT,
  },
  'a split with a member away': {
    ...PLAIN,
    calls: 2,
    steps: 12,
    polls: 2,
    outages: 1,
    start: ['A calls', 'B calls', 'A 1 request arrives', 'B 2 request arrives', 'member 3 disappears'],
  },
};

/** As etcd does. */
const DECIDES = { ...PLAIN, decides: true };

/** As ZooKeeper does. */
const KEEPS = { ...PLAIN, decides: false };

/** B waits, and A has released. */
const HANDED_OVER = [
  ...['A calls', 'A request arrives', 'A answer arrives', 'B calls', 'B request arrives', 'B answer arrives'],
  ...['B request arrives', 'B answer arrives', 'A releases', 'A request arrives', 'A answer arrives'],
];

/** A holds the lock of a store that only keeps the queue, and B waits. */
const QUEUED = [
  ...['A calls', 'A request arrives', 'A request arrives', 'B calls'],
  ...Array(5).fill('B request arrives'),
];

/** B waits, at a store that decides. */
const WAITS = ['A calls', 'A request arrives', 'B calls', 'B request arrives', 'B request arrives'];

/** B has read the lease of A. */
const MEASURED = ['A calls', 'A request arrives', 'B tries', 'B request arrives'];

/** What is explored of an ordered queue: see `OrderedWorld`. */
export const ORDERED_SCENARIOS = {
  'three processes': { ...DECIDES, limits: [1, 1, 1], calls: 4, polls: 1 },
  'a store that only keeps the queue': { ...KEEPS, limits: [1, 1, 1], calls: 4, polls: 1 },
  'answers in any order': { ...DECIDES, calls: 3, overtakes: 2, prompt: false },
  'late answers': { ...DECIDES, calls: 2, steps: 3, polls: 1, renewals: 1, prompt: false },
  'late answers of the queue': { ...KEEPS, calls: 2, steps: 3, polls: 1, renewals: 1, prompt: false },
  'writes are lost': { ...DECIDES, calls: 3, cuts: 2, polls: 1, renewals: 1 },
  'writes of the queue are lost': { ...KEEPS, calls: 3, cuts: 2, polls: 1, renewals: 1, prompt: false },
  'callers that leave': { ...DECIDES, limits: [1, 1, 1], calls: 3, leaves: 2, cuts: 1 },
  'single tries': { ...DECIDES, calls: 1, tries: 3, cuts: 1 },
  'single tries at the queue': { ...KEEPS, calls: 1, tries: 3, contended: true, cuts: 1 },
  'a session is over': { ...DECIDES, calls: 3, cuts: 1, ends: 1, leaps: 2, renewals: 1 },
  'a session of the queue is over': { ...KEEPS, calls: 3, cuts: 1, ends: 1, leaps: 2, renewals: 1 },
  'leases end': { ...DECIDES, rates: [1, 1.015], calls: 2, leaps: 1, steps: 4, renewals: 1, polls: 1 },
  'leases end for a slow clock': { ...DECIDES, rates: [1.015, 1], calls: 2, leaps: 1, steps: 4, renewals: 1 },
  'leases of their own': {
    ...DECIDES,
    timed: true,
    rates: [1, 1.015],
    calls: 2,
    leaps: 2,
    steps: 3,
    renewals: 1,
  },
  'measured leases': {
    ...DECIDES,
    timed: true,
    calls: 2,
    tries: 1,
    renewals: 1,
    moments: 1,
    steps: 3,
    start: MEASURED,
  },
  'leases of their own at the queue': { ...KEEPS, timed: true, calls: 2, leaps: 2, steps: 3, renewals: 1 },
  'holds found by a read': { ...DECIDES, rates: [1, 1.015], calls: 3, steps: 3 },
  'holds found by a late read': {
    ...DECIDES,
    calls: 3,
    moments: 1,
    steps: 3,
    prompt: false,
    start: HANDED_OVER,
  },
  'moments between messages': { ...KEEPS, calls: 3, moments: 3, steps: 1, start: QUEUED },
  'claim leases that change': {
    ...DECIDES,
    claimLeases: [2_000, 500],
    calls: 3,
    doubts: 1,
    polls: 1,
    moments: 2,
    start: [
      ...WAITS,
      'B polls',
      'B request ends in doubt',
      'A releases',
      'A request arrives',
      'B event arrives',
    ],
  },
  'claim leases that change at the queue': {
    ...KEEPS,
    claimLeases: [500, 2_000],
    calls: 2,
    doubts: 1,
    polls: 1,
    moments: 2,
    steps: 2,
    start: QUEUED,
  },
  'waiters that expire': { ...DECIDES, calls: 2, cuts: 1, doubts: 1, polls: 1, steps: 4, start: WAITS },
  'requests in doubt': { ...DECIDES, calls: 3, doubts: 2, polls: 1, renewals: 1 },
  'extended before the claim': {
    ...DECIDES,
    timed: true,
    extendsAtOnce: true,
    calls: 3,
    steps: 10,
    start: [...WAITS, 'A releases', 'A request arrives', 'B event arrives', 'B request arrives'],
  },
  'a stopped process': { ...KEEPS, rates: [1, 1.015], calls: 2, steps: 6, polls: 1 },
  'deletions by an operator': { ...DECIDES, calls: 3, deletions: 2, renewals: 1, polls: 1, steps: 1 },
  'deletions from the queue': { ...KEEPS, calls: 3, deletions: 2, renewals: 1, polls: 1, steps: 1 },
  'broken holds': { ...DECIDES, limits: [1, 1, 1], calls: 3, breaks: 2, renewals: 1, steps: 1 },
  'reserved tokens': { ...DECIDES, calls: 3, reserves: 2, renewals: 1, cuts: 1, steps: 1 },
  permits: { ...DECIDES, limits: [2, 2, 2], calls: 4, polls: 1 },
  'permits of the queue': { ...KEEPS, limits: [2, 2, 2], calls: 4, polls: 1 },
  'several permits': { ...DECIDES, limits: [3, 3, 3], permits: [1, 2, 2], calls: 4, leaves: 1 },
  'readers and a writer': { ...DECIDES, limits: [Infinity, Infinity, 1], calls: 4, leaves: 1 },
  'readers and a writer at the queue': { ...KEEPS, limits: [Infinity, Infinity, 1], calls: 4, leaves: 1 },
};
