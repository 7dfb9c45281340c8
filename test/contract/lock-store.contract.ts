import { describe } from '@jest/globals';
import { asyncContextRules } from './async-context.rules.js';
import { boardRules } from './board.rules.js';
import { conflictRules } from './conflict.rules.js';
import { ContractContext } from './contract-context.js';
import { crashRules } from './crash.rules.js';
import { fairRules } from './fair.rules.js';
import { forceReleaseRules } from './force-release.rules.js';
import { givingUpRules } from './giving-up.rules.js';
import { handOverRules } from './hand-over.rules.js';
import { handleRules } from './handle.rules.js';
import { holdAtLeastRules } from './hold-at-least.rules.js';
import { holderNamedRules } from './holder-named.rules.js';
import { instrumentRules } from './instruments.rules.js';
import { keyArrayRules } from './key-array.rules.js';
import { keyRules } from './key.rules.js';
import { leaderRules } from './leader.rules.js';
import { leaseRules } from './lease.rules.js';
import { listenerRules } from './listener.rules.js';
import { mixedLimitRules } from './mixed-limits.rules.js';
import { observabilityRules } from './observability.rules.js';
import { ownFactsRules } from './own-facts.rules.js';
import { outageTokenRules } from './outage-tokens.rules.js';
import { permitRules } from './permits.rules.js';
import { portRules } from './port.rules.js';
import { reEntrancyRules } from './re-entrancy.rules.js';
import { releaseRules } from './release.rules.js';
import { reserveRules } from './reserve.rules.js';
import { retryRules } from './retry.rules.js';
import { sharesRules } from './shares.rules.js';
import { shareLeaseRules } from './share-leases.rules.js';
import { shareTurnRules } from './share-turns.rules.js';
import { sharingRules } from './sharing.rules.js';
import { shortLeaseRules } from './short-lease.rules.js';
import { shutdownRules } from './shutdown.rules.js';
import type { StoreFactory } from './store-under-test.js';
import { maxWaitingRules } from './max-waiting.rules.js';
import { waitingRules } from './waiting.rules.js';
import { withLockRules } from './with-lock.rules.js';

/**
 * Every rule that holds for every store, by number. A new store adds a factory and calls this.
 *
 * @param kinds `exclusive` for a store that refuses strict order, readers and permits
 */
export function lockStoreContract(
  name: string,
  factory: StoreFactory,
  kinds: 'all' | 'exclusive' = 'all',
): void {
  describe(`contract of ${name}`, () => {
    const context = new ContractContext(factory, kinds === 'exclusive');
    withLockRules(context);
    releaseRules(context);
    waitingRules(context);
    handleRules(context);
    leaseRules(context);
    crashRules(context);
    shortLeaseRules(context);
    listenerRules(context);
    asyncContextRules(context);
    handOverRules(context);
    retryRules(context);
    holderNamedRules(context);
    maxWaitingRules(context);
    reEntrancyRules(context);
    keyRules(context);
    keyArrayRules(context);
    holdAtLeastRules(context);
    shutdownRules(context);
    forceReleaseRules(context);
    givingUpRules(context);
    portRules(context);
    reserveRules(context);
    outageTokenRules(context);
    observabilityRules(context);
    boardRules(context);
    instrumentRules(context);
    if (context.isExclusive) return;
    fairRules(context);
    sharesRules(context);
    sharingRules(context);
    shareLeaseRules(context);
    shareTurnRules(context);
    conflictRules(context);
    permitRules(context);
    mixedLimitRules(context);
    leaderRules(context);
    ownFactsRules(context);
  });
}
