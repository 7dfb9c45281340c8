import { describe } from '@jest/globals';
import { asyncContextRules } from './async-context.rules.js';
import { conflictRules } from './conflict.rules.js';
import { ContractContext } from './contract-context.js';
import { fairRules } from './fair.rules.js';
import { givingUpRules } from './giving-up.rules.js';
import { handOverRules } from './hand-over.rules.js';
import { handleRules } from './handle.rules.js';
import { holdAtLeastRules } from './hold-at-least.rules.js';
import { keyArrayRules } from './key-array.rules.js';
import { keyRules } from './key.rules.js';
import { leaseRules } from './lease.rules.js';
import { listenerRules } from './listener.rules.js';
import { mixedLimitRules } from './mixed-limits.rules.js';
import { portRules } from './port.rules.js';
import { reEntrancyRules } from './re-entrancy.rules.js';
import { reserveRules } from './reserve.rules.js';
import { retryRules } from './retry.rules.js';
import { sharesRules } from './shares.rules.js';
import { shareLeaseRules } from './share-leases.rules.js';
import { shareTurnRules } from './share-turns.rules.js';
import { sharingRules } from './sharing.rules.js';
import { shutdownRules } from './shutdown.rules.js';
import type { StoreFactory } from './store-under-test.js';
import { takeAllRules } from './take-all.rules.js';
import { waitingRules } from './waiting.rules.js';
import { withLockRules } from './with-lock.rules.js';

/** Everything that holds for every store, by rule number. A new store adds a factory and calls this. */
export function lockStoreContract(name: string, factory: StoreFactory): void {
  describe(`contract of ${name}`, () => {
    const context = new ContractContext(factory);
    withLockRules(context);
    waitingRules(context);
    handleRules(context);
    leaseRules(context);
    listenerRules(context);
    asyncContextRules(context);
    handOverRules(context);
    fairRules(context);
    retryRules(context);
    reEntrancyRules(context);
    sharesRules(context);
    keyRules(context);
    keyArrayRules(context);
    holdAtLeastRules(context);
    shutdownRules(context);
    givingUpRules(context);
    portRules(context);
    reserveRules(context);
    sharingRules(context);
    shareLeaseRules(context);
    shareTurnRules(context);
    conflictRules(context);
    mixedLimitRules(context);
    takeAllRules(context);
  });
}
