import { describe, expect, it } from '@jest/globals';
import { within } from '../support/until.js';
import { CallRun } from './call-run.js';
import { ContractContext } from './contract-context.js';
import { delayed } from './delayed.js';
import { randomCallRules } from './random-calls.rules.js';
import { orderedMemory, stores } from './stores.js';

describe('calls of a store in memory', () => {
  randomCallRules(new ContractContext(stores.memory), 4);
});

describe('calls of an ordered store in memory', () => {
  randomCallRules(new ContractContext(orderedMemory), 2);
});

describe('calls of a distant server', () => {
  const context = new ContractContext(delayed['redis-10ms']);

  it('B10: callers of one process with different leases do not block each other', async () => {
    const apps = await context.fleet(3, { shutdownTimeout: 10_000 });
    // Tickets pass from caller to caller here while they are requested with the lease of another caller.
    const mix = { limits: [Infinity, Infinity, 1], fair: 0.1 };
    const run = new CallRun(context.key(), apps, mix, context.store, 620_210_456);
    await within(20_000, 'all calls', run.take(40));
    const { history } = run;
    expect([...history.exclusion(), ...history.forgotten()]).toEqual([]);
    await context.nothingLeft();
  });
});
