// Bugs that the explorer has to find: each breaks one invariant in the source of the machine.

const MACHINE = 'key-machine.js';
const QUEUE = 'store-queue.js';
const BUDGET = 'hand-over-budget.js';

/** @type {Record<string, { about: string, scenario: string, depth: number, file: string, from: string | RegExp, to: string }>} */
export const PLANTS = {
  'reader beside a writer': {
    about: 'a lease of readers serves a writer: an exclusive hold begins beside others',
    scenario: 'readers',
    depth: 9,
    file: MACHINE,
    from: 'if (limit !== lease.limit || leaseTime !== undefined)',
    to: 'if (leaseTime !== undefined)',
  },
  'endless turn': {
    about: 'hand-overs are not counted: a process keeps the lock from others',
    scenario: 'exclusive',
    depth: 14,
    file: BUDGET,
    from: 'this.handOvers += 1;',
    to: '',
  },
  'token used twice': {
    about: 'a hand-over passes the token on',
    scenario: 'exclusive',
    depth: 9,
    file: BUDGET,
    from: 'this.nextToken += 1;',
    to: '',
  },
  'out of order': {
    about: 'strict order: a caller is served that came after one of another process',
    scenario: 'strict order',
    depth: 12,
    file: MACHINE,
    from: 'return joinedAt <= budget.settledAt;',
    to: 'return true;',
  },
  'lost wake-up': {
    about: 'the next caller does not inherit the entry of one that leaves',
    scenario: 'with timeouts',
    depth: 8,
    file: MACHINE,
    from: 'queue.lastFreed = undefined;\n        this.settle(now);',
    to: 'queue.lastFreed = undefined;',
  },
  'left behind': {
    about: 'an entry that nobody needs is not withdrawn from the store',
    scenario: 'with timeouts',
    depth: 8,
    file: QUEUE,
    from: 'this.effects.cancel(entry);',
    to: '',
  },
  'grant for nobody': {
    about: 'a grant whose caller has left starts it all the same',
    scenario: 'with timeouts',
    depth: 8,
    file: QUEUE,
    from: 'if (caller?.lease !== entry.askedLease || wasBroken)\n            this.withdraw(entry, now);\n        else if',
    to: 'if',
  },
  'failure without a retry': {
    about: 'a request whose answer is lost is not repeated',
    scenario: 'lost messages',
    depth: 8,
    file: QUEUE,
    from: "this.pause(entry, 'retrying', now);",
    to: "entry.state = 'retrying';",
  },
  'started twice': {
    about: 'a caller whose entry is granted stays in the line',
    scenario: 'one process',
    depth: 8,
    file: MACHINE,
    from: 'this.waiting.leave(caller);\n        const lease = effects.open',
    to: 'const lease = effects.open',
  },
};
