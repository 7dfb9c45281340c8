// Bugs that the simulation has to find. The first ones were in the library before the simulation existed.

const LINE = 'engine/line.js';
const TICKETS = 'engine/tickets.js';
const QUORUM = 'stores/quorum/quorum-acquire.js';
const LEADER = 'leader/leader-election.js';
const FALLBACK = 'stores/fallback/fallback-lock-store.js';
const LUA = 'stores/redis/scripts/lua-source.generated.js';
const REDISSON = 'stores/redisson/redisson-session.js';
const SERVER = 'stores/redis/server-session.js';
const CHANNEL = 'stores/redis/grant-channel.js';

/**
 * @type {Record<string, { about: string, kind: string, file: string, from: string, to: string, everywhere?: boolean }>}
 *   everywhere: in each script that includes it
 */
export const PLANTS = {
  'requeued after it left': {
    about: 'a quorum sets the timer of an owner that gives way only after the engine may have withdrawn it',
    kind: 'quorum',
    file: 'stores/quorum/split-vote-resolver.js',
    from: 'this.isBackingOff = true;\n        const longest',
    to: 'this.isBackingOff = true;\n        acquire.backOff();\n        const longest',
  },
  'old hold continued': {
    about: 'votes that have ended count as those of the same hold, though others have held the lock since',
    kind: 'quorum',
    file: QUORUM,
    from: "if (this.state === 'granted' && this.voters.length < this.needed)",
    to: 'if (false)',
  },
  'short claim inherited': {
    about: 'a caller without leaseTime begins on a grant that was pushed for a shorter leaseTime',
    kind: 'memory',
    file: LINE,
    from: 'if (pushed.lease < Math.min(hold.lease, engine_timeLimits.CLAIM_LEASE))',
    to: 'if (false)',
  },
  'held, reported as unavailable': {
    about: 'what a hold of the process itself shows is not used',
    kind: 'memory',
    file: LINE,
    from: 'this.noteHeld(now);\n        this.held =',
    to: 'this.held =',
  },
  'unavailable, reported as held': {
    about: 'an old report counts, though all connections are closed or the first ticket has no reply',
    kind: 'memory',
    file: LINE,
    from: 'const isSilentNow = stores_port_forwardingSession.isCutOff(this.engine.session) || this.isOutdated(ticket, now);',
    to: 'const isSilentNow = ticket !== undefined && this.isOutdated(ticket, now);',
  },
  'busy with itself': {
    about: 'an attempt fails because of an unused ticket of its own process',
    kind: 'memory',
    file: 'engine/tries.js',
    from: 'isHeld && isLeaving && tries === 1',
    to: 'false',
  },
  'good work reported as lost': {
    about: 'a listener that ends another hold of a shared ticket makes release() say "expired"',
    kind: 'memory',
    file: TICKETS,
    from: "return ticket.state === 'lost' ? 'expired' : (ticket.released ?? 'released');",
    to: "return 'expired';",
  },
  'late clean-up': {
    about: 'an extended wait does not shorten its clean-up',
    kind: 'memory',
    file: LINE,
    from: 'timers.within(patience, this.idle())',
    to: 'timers.within(30, this.idle())',
  },
  'reader beside a writer': {
    about: 'a ticket of readers serves a writer',
    kind: 'memory',
    file: LINE,
    from: 'if (limit !== ticket.limit || permits !== ticket.permits || options.leaseTime !== undefined)',
    to: 'if (permits !== ticket.permits || options.leaseTime !== undefined)',
  },
  'token used twice': {
    about: 'a hand-over passes the token on',
    kind: 'memory',
    file: 'engine/turn.js',
    from: 'this.nextToken += 1;',
    to: '',
  },
  'left behind': {
    about: 'an unused ticket is not withdrawn',
    kind: 'memory',
    file: LINE,
    from: 'this.follow(tickets.withdraw(key, owner, ticket.inDoubt));',
    to: '',
  },
  'late lease': {
    about: 'a lease counts from its reply, not from its request',
    kind: 'memory',
    file: LINE,
    from: 'const { sentAt } = ticket;',
    to: 'const sentAt = now;',
  },
  'deaf waiter': {
    about: 'a waiter does not poll',
    kind: 'memory',
    file: LINE,
    from: 'Math.min(expiry, engine_timeLimits.POLL)',
    to: '60_000',
  },
  'minority rules': {
    about: 'a hold needs one vote too few',
    kind: 'quorum',
    file: QUORUM,
    from: 'this.needed = stores_quorum_majority.votesNeeded(sessions.length, limit);',
    to: 'this.needed = stores_quorum_majority.votesNeeded(sessions.length, limit) - 1;',
  },
  'broken here before the store': {
    about: 'with a fallback, forceRelease ends the hold of its own process before the store has replied',
    kind: 'fallback',
    file: FALLBACK,
    from: 'const reply = await store.breakHold(key, hold);',
    to: 'if (hold === undefined) await local.session.breakHold(key);\n        const reply = await store.breakHold(key, hold);',
  },
  'tokens fall back': {
    about: 'the tokens of a store that counts slowly are not raised above those of local holds',
    kind: 'fallback',
    file: FALLBACK,
    from: 'await store.raiseTokens?.(floor, [stores_port_forwardingSession.PROBE_KEY, ...raised]);',
    to: '',
  },
  'broken by nobody': {
    about: 'breakHold breaks all holds of the key',
    kind: 'memory',
    file: 'stores/memory/memory-session.js',
    from: 'const broken = holds.filter((hold) => stores_port_forwardingSession.isNamed(hold, named));',
    to: 'const broken = holds;',
  },
  'votes kept': {
    about: 'an owner that is rejected stays at the members',
    kind: 'quorum',
    file: QUORUM,
    from: 'return this.leave.reject();',
    to: 'return Promise.resolve();',
  },
  'not renewed': {
    about: 'the watchdog believes that it has renewed',
    kind: 'memory',
    file: 'engine/renewals.js',
    from: 'const replies = await session.renew(requests);',
    to: "const replies = requests.map(() => 'renewed');",
  },
  'led by nobody': {
    about: 'a method that never ends keeps the lock of its leadership for ever',
    kind: 'memory',
    file: LEADER,
    from: 'await this.endInTime(ended, term, reason);',
    to: 'await ended;',
  },
  'elected too late': {
    about: 'a candidate that gets the lock while it is stopped leads',
    kind: 'memory',
    file: LEADER,
    from: 'if (this.isStopped)\n            return void (await handle.release());',
    to: '',
  },
  'the same work twice': {
    about: 'a process is a candidate again while its methods still run',
    kind: 'memory',
    file: LEADER,
    from: 'if (this.calls.size > 0)\n            await Promise.race([ended, this.stopped]);',
    to: '',
  },
  'waits for itself': {
    about: 'a method that awaits resign() is not told',
    kind: 'memory',
    file: LEADER,
    from: 'if (callStorage.getStore()?.term !== term)',
    to: 'if (true)',
  },
  'relayed by a replica': {
    about: 'a grant that nobody received is revoked after it was published',
    kind: 'redis',
    file: LUA,
    from: String.raw`waiter.heard = UNHEARD\n`,
    to: String.raw`local token = grant(lock, fence, owner, waiter.limit, waiter.claim, now, waiter.tokens, waiter.label, true)\npush(waiter, owner, token, others_wait(queue, owner), now)\nremove_holder(lock, owner, now)\nwaiter.heard = UNHEARD\n`,
    everywhere: true,
  },
  'lost release': {
    about: 'a release that a failover has lost is not repeated at the new primary',
    kind: 'redis',
    file: SERVER,
    from: 'this.recentReleases.add(request, this.client.now());\n',
    to: '\n',
  },
  'lost release of Redisson': {
    about: 'the same on the store for Redisson',
    kind: 'redisson',
    file: SERVER,
    from: 'this.recentReleases.add(request, this.client.now());\n',
    to: '\n',
  },
  'ghost of Redisson': {
    about: 'a withdrawal that overtakes a request of its owner leaves no tombstone',
    kind: 'redisson',
    file: REDISSON,
    from: 'if (this.asking.isBusy(owner))',
    to: 'if (false)',
  },
  'shorter by a late claim': {
    about: 'a late claim sets the lease of a hold that was extended since',
    kind: 'redisson',
    file: LUA,
    from: "local claimed = is_claim and redis.call('HDEL', lock, 'unclaimed') == 1",
    to: 'local claimed = is_claim',
    everywhere: true,
  },
  'left at the old server': {
    about: 'the session at the server that had a slot keeps the waiters of its locks',
    kind: 'redisson cluster',
    file: REDISSON,
    from: 'const moved = [...this.waiters.values()].filter(({ key }) => !concerns(key));',
    to: 'const moved = [];',
  },
  'left at the old server of Redis': {
    about: 'the same on the Redis store',
    kind: 'redis cluster',
    file: 'stores/redis/redis-session.js',
    from: 'return this.pushed.forgetUnless(concerns);',
    to: 'return false;',
  },
  'deaf since its slot came back': {
    about: 'channels of locks are not subscribed again',
    kind: 'redisson cluster',
    file: CHANNEL,
    from: 'for (const other of this.others.keys())\n            void this.join(other);',
    to: '',
  },
  'doubt forgotten': {
    about:
      'a withdrawal that could not be sent takes the doubt about its owner with it, so that the next one leaves no tombstone',
    kind: 'redisson',
    file: REDISSON,
    from: 'batch.add(this.inDoubt.has(owner) ? { ...request, inDoubt: true } : request)',
    to: 'batch.add(this.inDoubt.delete(owner) || request.inDoubt ? { ...request, inDoubt: true } : request)',
  },
  'turns for ever': {
    about: 'the turn of an owner whose hold is gone is kept',
    kind: 'redisson',
    file: REDISSON,
    from: 'if (!this.inDoubt.has(owner))\n            this.ended(owner);',
    to: 'if (!this.inDoubt.has(owner))\n            return;',
  },
  'doubts for ever': {
    about: 'an owner in doubt whose hold is gone is kept',
    kind: 'redisson',
    file: REDISSON,
    from: 'else\n            this.release({ key, owner, wasGranted: true, inDoubt: true }).then(undefined, () => undefined);',
    to: '',
  },
};
