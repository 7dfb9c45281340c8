const NONE = { leaves: 0, losses: 0, polls: 0, steps: 0, expiries: 0 };

/** What is explored: kinds of callers and what may go wrong, see `World`. */
export const SCENARIOS = {
  'one process': { ...NONE, processes: 1, callers: 5, leaves: 2, steps: 1, kinds: ['exclusive'] },
  exclusive: { ...NONE, processes: 2, callers: 5, kinds: ['exclusive'] },
  'three processes': { ...NONE, processes: 3, callers: 4, kinds: ['exclusive'] },
  'with timeouts': { ...NONE, processes: 2, callers: 4, leaves: 2, kinds: ['exclusive'] },
  'strict order': { ...NONE, processes: 2, callers: 5, steps: 1, kinds: ['fair'] },
  'strict order beside others': { ...NONE, processes: 2, callers: 4, steps: 1, kinds: ['fair', 'exclusive'] },
  readers: { ...NONE, processes: 2, callers: 4, steps: 1, kinds: ['reader', 'exclusive'] },
  permits: { ...NONE, processes: 2, callers: 5, steps: 1, kinds: ['permit'] },
  'permits and timeouts': { ...NONE, processes: 2, callers: 4, leaves: 2, kinds: ['permit'] },
  'several permits': { ...NONE, processes: 2, callers: 5, steps: 1, kinds: ['permit', 'pair'] },
  'several permits and timeouts': {
    ...NONE,
    processes: 2,
    callers: 4,
    leaves: 2,
    kinds: ['permit', 'pair'],
  },
  'two of three permits': { ...NONE, processes: 2, callers: 4, steps: 1, kinds: ['third', 'most'] },
  'several permits of one process': { ...NONE, processes: 1, callers: 4, kinds: ['third', 'most'] },
  'lost messages of several permits': {
    ...NONE,
    processes: 2,
    callers: 3,
    losses: 1,
    polls: 1,
    leaves: 1,
    kinds: ['permit', 'pair'],
  },
  'other limits': { ...NONE, processes: 2, callers: 4, kinds: ['permit', 'exclusive'] },
  'leases of their own': { ...NONE, processes: 2, callers: 4, kinds: ['timed', 'exclusive'] },
  'lost messages': {
    ...NONE,
    processes: 2,
    callers: 3,
    losses: 2,
    polls: 2,
    leaves: 1,
    kinds: ['exclusive'],
  },
  'lost messages of readers': {
    ...NONE,
    processes: 2,
    callers: 3,
    losses: 1,
    polls: 1,
    steps: 1,
    kinds: ['reader', 'exclusive'],
  },
  'lost leases': { ...NONE, processes: 2, callers: 4, expiries: 2, leaves: 1, kinds: ['exclusive'] },
  'lost leases of readers': {
    ...NONE,
    processes: 2,
    callers: 4,
    expiries: 1,
    steps: 1,
    kinds: ['reader', 'exclusive'],
  },
};

const NO_FAULTS = {
  limits: [1, 1],
  calls: 0,
  tries: 0,
  leaves: 0,
  polls: 0,
  steps: 0,
  leaps: 0,
  losses: 0,
  breaks: 0,
  outages: 0,
  lostData: 0,
  renewals: 0,
  reserves: 0,
  prompt: true,
};

/** Each member has granted the lock to another process. */
const SPLIT = [
  ...['A calls', 'B calls', 'C calls'],
  ...['A 1', 'B 2', 'C 3', 'A 2', 'B 3', 'C 1', 'A 3', 'B 1', 'C 2'].map((at) => `${at} request arrives`),
];

/** What is explored of a quorum: see `QuorumWorld`. */
export const QUORUM_SCENARIOS = {
  'a quorum': { ...NO_FAULTS, calls: 3 },
  'answers in any order': { ...NO_FAULTS, calls: 2, prompt: false },
  'late answers': { ...NO_FAULTS, calls: 2, steps: 4, polls: 1, prompt: false },
  'lost answers': { ...NO_FAULTS, calls: 2, losses: 2, polls: 2, steps: 2, prompt: false },
  'callers that leave': { ...NO_FAULTS, calls: 3, leaves: 2, steps: 2, polls: 1 },
  'single tries': { ...NO_FAULTS, calls: 1, tries: 2, steps: 2, polls: 1 },
  'a member is away': { ...NO_FAULTS, calls: 2, outages: 2, steps: 3, polls: 2 },
  'leases end': { ...NO_FAULTS, calls: 2, leaps: 2, steps: 1, polls: 1, renewals: 1 },
  'a member loses its data': { ...NO_FAULTS, calls: 3, outages: 1, lostData: 1, polls: 1, steps: 1 },
  'reserved tokens': { ...NO_FAULTS, calls: 2, reserves: 2, renewals: 1, losses: 1, outages: 1 },
  'broken holds': { ...NO_FAULTS, calls: 3, breaks: 2, polls: 1, steps: 1 },
  permits: { ...NO_FAULTS, limits: [2, 2, 2], calls: 3, steps: 2 },
  'several permits': { ...NO_FAULTS, limits: [3, 3, 3], permits: [1, 2, 2], calls: 3, steps: 2, polls: 2 },
  'readers and a writer': { ...NO_FAULTS, limits: [Infinity, Infinity, 1], calls: 4, steps: 2 },
  'a split': { ...NO_FAULTS, limits: [1, 1, 1], calls: 3, steps: 12, polls: 2, start: SPLIT },
  'a split of readers': {
    ...NO_FAULTS,
    limits: [Infinity, Infinity, 1],
    calls: 3,
    steps: 12,
    polls: 2,
    start: SPLIT,
  },
  'a split with a member away': {
    ...NO_FAULTS,
    calls: 2,
    steps: 12,
    polls: 2,
    outages: 1,
    start: ['A calls', 'B calls', 'A 1 request arrives', 'B 2 request arrives', 'member 3 disappears'],
  },
};

const QUIET = {
  limits: [1, 1],
  decides: true,
  contended: false,
  timed: false,
  calls: 0,
  tries: 0,
  leaves: 0,
  polls: 0,
  steps: 0,
  leaps: 0,
  moments: 0,
  cuts: 0,
  ends: 0,
  deletions: 0,
  breaks: 0,
  overtakes: 0,
  doubts: 0,
  renewals: 0,
  reserves: 0,
  prompt: true,
};

/** As ZooKeeper does. */
const KEEPS = { ...QUIET, decides: false };

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
  'three processes': { ...QUIET, limits: [1, 1, 1], calls: 4, polls: 1 },
  'a store that only keeps the queue': { ...KEEPS, limits: [1, 1, 1], calls: 4, polls: 1 },
  'answers in any order': { ...QUIET, calls: 3, overtakes: 2, prompt: false },
  'late answers': { ...QUIET, calls: 2, steps: 3, polls: 1, renewals: 1, prompt: false },
  'late answers of the queue': { ...KEEPS, calls: 2, steps: 3, polls: 1, renewals: 1, prompt: false },
  'writes are lost': { ...QUIET, calls: 3, cuts: 2, polls: 1, renewals: 1 },
  'writes of the queue are lost': { ...KEEPS, calls: 3, cuts: 2, polls: 1, renewals: 1, prompt: false },
  'callers that leave': { ...QUIET, limits: [1, 1, 1], calls: 3, leaves: 2, cuts: 1 },
  'single tries': { ...QUIET, calls: 1, tries: 3, cuts: 1 },
  'single tries at the queue': { ...KEEPS, calls: 1, tries: 3, contended: true, cuts: 1 },
  'a session is over': { ...QUIET, calls: 3, cuts: 1, ends: 1, leaps: 2, renewals: 1 },
  'a session of the queue is over': { ...KEEPS, calls: 3, cuts: 1, ends: 1, leaps: 2, renewals: 1 },
  'leases end': { ...QUIET, rates: [1, 1.015], calls: 2, leaps: 1, steps: 4, renewals: 1, polls: 1 },
  'leases end for a slow clock': { ...QUIET, rates: [1.015, 1], calls: 2, leaps: 1, steps: 4, renewals: 1 },
  'leases of their own': {
    ...QUIET,
    timed: true,
    rates: [1, 1.015],
    calls: 2,
    leaps: 2,
    steps: 3,
    renewals: 1,
  },
  'measured leases': {
    ...QUIET,
    timed: true,
    calls: 2,
    tries: 1,
    renewals: 1,
    moments: 1,
    steps: 3,
    start: MEASURED,
  },
  'leases of their own at the queue': { ...KEEPS, timed: true, calls: 2, leaps: 2, steps: 3, renewals: 1 },
  'holds found by a read': { ...QUIET, rates: [1, 1.015], calls: 3, steps: 3 },
  'holds found by a late read': {
    ...QUIET,
    calls: 3,
    moments: 1,
    steps: 3,
    prompt: false,
    start: HANDED_OVER,
  },
  'moments between messages': { ...KEEPS, calls: 3, moments: 3, steps: 1, start: QUEUED },
  'claim leases that change': {
    ...QUIET,
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
  'waiters that expire': { ...QUIET, calls: 2, cuts: 1, doubts: 1, polls: 1, steps: 4, start: WAITS },
  'requests in doubt': { ...QUIET, calls: 3, doubts: 2, polls: 1, renewals: 1 },
  'extended before the claim': {
    ...QUIET,
    timed: true,
    extendsAtOnce: true,
    calls: 3,
    steps: 10,
    start: [...WAITS, 'A releases', 'A request arrives', 'B event arrives', 'B request arrives'],
  },
  'a stopped process': { ...KEEPS, rates: [1, 1.015], calls: 2, steps: 6, polls: 1 },
  'deletions by an operator': { ...QUIET, calls: 3, deletions: 2, renewals: 1, polls: 1, steps: 1 },
  'deletions from the queue': { ...KEEPS, calls: 3, deletions: 2, renewals: 1, polls: 1, steps: 1 },
  'broken holds': { ...QUIET, limits: [1, 1, 1], calls: 3, breaks: 2, renewals: 1, steps: 1 },
  'reserved tokens': { ...QUIET, calls: 3, reserves: 2, renewals: 1, cuts: 1, steps: 1 },
  permits: { ...QUIET, limits: [2, 2, 2], calls: 4, polls: 1 },
  'permits of the queue': { ...KEEPS, limits: [2, 2, 2], calls: 4, polls: 1 },
  'several permits': { ...QUIET, limits: [3, 3, 3], permits: [1, 2, 2], calls: 4, leaves: 1 },
  'readers and a writer': { ...QUIET, limits: [Infinity, Infinity, 1], calls: 4, leaves: 1 },
  'readers and a writer at the queue': { ...KEEPS, limits: [Infinity, Infinity, 1], calls: 4, leaves: 1 },
};
