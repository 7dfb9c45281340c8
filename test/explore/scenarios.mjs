const NONE = { leaves: 0, losses: 0, polls: 0, steps: 0, expiries: 0 };

/** What is explored: kinds of callers and what may go wrong, each with the depth that `npm run explore` goes to. */
export const SCENARIOS = {
  'one process': {
    rules: { ...NONE, processes: 1, callers: 5, leaves: 2, steps: 1, kinds: ['exclusive'] },
    depth: 16,
  },
  exclusive: { rules: { ...NONE, processes: 2, callers: 5, kinds: ['exclusive'] }, depth: 14 },
  'three processes': { rules: { ...NONE, processes: 3, callers: 4, kinds: ['exclusive'] }, depth: 12 },
  'with timeouts': {
    rules: { ...NONE, processes: 2, callers: 4, leaves: 2, kinds: ['exclusive'] },
    depth: 12,
  },
  'strict order': { rules: { ...NONE, processes: 2, callers: 5, steps: 1, kinds: ['fair'] }, depth: 14 },
  'strict order beside others': {
    rules: { ...NONE, processes: 2, callers: 4, steps: 1, kinds: ['fair', 'exclusive'] },
    depth: 12,
  },
  readers: {
    rules: { ...NONE, processes: 2, callers: 4, steps: 1, kinds: ['reader', 'exclusive'] },
    depth: 12,
  },
  permits: { rules: { ...NONE, processes: 2, callers: 5, steps: 1, kinds: ['permit'] }, depth: 12 },
  'permits and timeouts': {
    rules: { ...NONE, processes: 2, callers: 4, leaves: 2, kinds: ['permit'] },
    depth: 11,
  },
  'other limits': { rules: { ...NONE, processes: 2, callers: 4, kinds: ['permit', 'exclusive'] }, depth: 11 },
  'leases of their own': {
    rules: { ...NONE, processes: 2, callers: 4, kinds: ['timed', 'exclusive'] },
    depth: 12,
  },
  'lost messages': {
    rules: { ...NONE, processes: 2, callers: 3, losses: 2, polls: 2, leaves: 1, kinds: ['exclusive'] },
    depth: 12,
  },
  'lost messages of readers': {
    rules: {
      ...NONE,
      processes: 2,
      callers: 3,
      losses: 1,
      polls: 1,
      steps: 1,
      kinds: ['reader', 'exclusive'],
    },
    depth: 11,
  },
  'lost leases': {
    rules: { ...NONE, processes: 2, callers: 4, expiries: 2, leaves: 1, kinds: ['exclusive'] },
    depth: 11,
  },
  'lost leases of readers': {
    rules: { ...NONE, processes: 2, callers: 4, expiries: 1, steps: 1, kinds: ['reader', 'exclusive'] },
    depth: 11,
  },
};
