// Bugs that the explorer has to find: each breaks one invariant, or one rule of the scripts.

const LINE = 'engine/line.js';
const TURN = 'engine/turn.js';

/** @type {Record<string, { about: string, scenario: string, file: string, from: string | RegExp, to: string }>} */
export const PLANTS = {
  'reader beside a writer': {
    about: 'a ticket of readers serves a writer: an exclusive hold begins beside others',
    scenario: 'readers',
    file: LINE,
    from: 'if (limit !== ticket.limit || permits !== ticket.permits || options.leaseTime !== undefined)',
    to: 'if (permits !== ticket.permits || options.leaseTime !== undefined)',
  },
  'permits summed wrongly': {
    about: 'a ticket passes to a caller that needs more permits',
    scenario: 'several permits',
    file: LINE,
    from: 'permits !== ticket.permits || ',
    to: '',
  },
  'large request overtaken': {
    about: 'a ticket of one permit passes to a caller behind one that needs two',
    scenario: 'several permits of one process',
    file: LINE,
    from: 'const head = this.waiting.first;\n        if (head === undefined || !this.canServe(ticket, head) ||',
    to: 'let head = this.waiting.first;\n        while (head !== undefined && !this.canServe(ticket, head))\n            head = head.next;\n        if (head === undefined ||',
  },
  'endless turn': {
    about: 'hand-overs are not counted: a process keeps the lock from others',
    scenario: 'exclusive',
    file: TURN,
    from: 'this.handOvers += 1;',
    to: '',
  },
  'token used twice': {
    about: 'a hand-over passes the token on',
    scenario: 'exclusive',
    file: TURN,
    from: 'this.nextToken += 1;',
    to: '',
  },
  'out of order': {
    about: 'strict order: a caller is served that came after one of another process',
    scenario: 'strict order',
    file: TURN,
    from: 'return joinedAt <= this.firstUntil;',
    to: 'return true;',
  },
  'lost wake-up': {
    about: 'the next caller does not inherit the ticket of one that leaves',
    scenario: 'with timeouts',
    file: LINE,
    from: 'const freed = this.serve(now);',
    to: 'const freed = undefined;',
  },
  'left behind': {
    about: 'a ticket that no caller needs is not withdrawn from the store',
    scenario: 'with timeouts',
    file: LINE,
    from: 'this.follow(tickets.withdraw(key, owner, ticket.inDoubt));',
    to: '',
  },
  'grant for nobody': {
    about: 'a grant whose caller has left starts it all the same',
    scenario: 'with timeouts',
    file: LINE,
    from: 'if (caller?.lease !== ticket.askedLease || wasBroken)\n            this.withdraw(ticket, now);\n        else if',
    to: 'if',
  },
  'failure without a retry': {
    about: 'a request whose answer is lost is not repeated',
    scenario: 'lost messages',
    file: LINE,
    from: "this.pause(ticket, 'pausing', now);\n                return;",
    to: "ticket.state = 'pausing';\n                return;",
  },
  'release lost at a failover': {
    about: 'a release that the new primary does not have is not repeated',
    scenario: 'a lost release',
    file: 'stores/redis/connection/server-connection.js',
    from: 'this.latest.push(',
    to: 'void (',
  },
  'started twice': {
    about: 'a caller whose ticket is granted stays in the line',
    scenario: 'one process',
    file: LINE,
    from: 'this.waiting.leave(hold);\n        tickets.granted(',
    to: 'tickets.granted(',
  },
};

/** In the scripts, on which the lines run. */
export const REDIS_PLANTS = {
  'grant taken back': {
    about: 'a grant that nobody at the server received is taken back, but a replica has relayed it',
    scenario: 'after a planned failover',
    drainEvery: Infinity,
    from: 'waiter.heard = UNHEARD\nwrite_waiter',
    to: [
      'local token = grant(lock, fence, owner, waiter.limit, waiter.claim, now, waiter.tokens, waiter.label, true)',
      "push(waiter, owner, token, others_wait(queue, owner), now)\nredis.call('DEL', lock)",
      'waiter.heard = UNHEARD\nwrite_waiter',
    ].join('\n'),
  },
};

/** In the code of a quorum. */
export const QUORUM_PLANTS = {
  'too small a majority': {
    about: 'one member of three decides: two processes hold the lock',
    scenario: 'a quorum',
    file: 'stores/quorum/majority.js',
    from: '/ (limit + 1)) + 1',
    to: '/ (limit + 1))',
  },
  'grant counted after its time': {
    about: 'the lease of an old grant is counted from a later request',
    scenario: 'leases end',
    file: 'stores/quorum/quorum-acquire.js',
    from: 'startedAt >= this.sentAt && ',
    to: '',
  },
  'failed try not released': {
    about: 'members keep what they have granted to a try that failed',
    scenario: 'single tries',
    file: 'stores/quorum/quorum-acquire.js',
    from: 'return this.leave.reject();',
    to: 'return Promise.resolve();',
  },
  'late request of a waiter': {
    about: 'members that have not answered are not told that the owner has left',
    scenario: 'callers that leave',
    file: 'stores/quorum/member-state.js',
    from: 'return this.vote !== undefined || this.underWay > 0 || this.inDoubt;',
    to: 'return this.vote !== undefined || this.inDoubt;',
  },
  'queue position kept': {
    about: 'a waiter that has the lock stays in the queue of a member',
    scenario: 'a quorum',
    file: 'stores/quorum/quorum-acquire.js',
    from: "if (this.state === 'granted' && member.isQueued)",
    to: 'if (false)',
  },
  'token not announced': {
    about: 'members are not told the token on which the others agreed',
    scenario: 'a quorum',
    file: 'stores/quorum/member-state.js',
    from: 'if (this.session.raise === undefined ||',
    to: 'if (true ||',
  },
  'nobody gives way': {
    about: 'each of three waiters keeps the vote of one member',
    scenario: 'a split',
    file: 'stores/quorum/split-vote-resolver.js',
    from: '!competitors.haveWon() && competitors.prevailOver(votes)',
    to: 'false',
  },
};

/** In the session of an ordered queue. */
export const ORDERED_PLANTS = {
  'lease observed too short': {
    about: 'a waiter ends the lease of a holder before the holder does',
    scenario: 'holds found by a read',
    file: 'stores/ordered/observed-leases.js',
    from: 'lease * 1.01 + 20',
    to: 'lease * 0.9',
  },
  'deleted during a write': {
    about: 'an entry expires while a write says that it holds the lock',
    scenario: 'moments between messages',
    file: 'stores/ordered/own-entries.js',
    from: 'entry.writing > 0',
    to: 'false',
  },
  'lease counted from its reply': {
    about: 'the lease of a hold that was found by a read begins when the reply arrives',
    scenario: 'holds found by a late read',
    file: 'stores/ordered/acquirer.js',
    from: 'startedAt: leaseFrom, lease: claimLease',
    to: 'startedAt, lease: claimLease',
  },
  'renewed without a write': {
    about: 'a lease that waiters measure is renewed without a write',
    scenario: 'measured leases',
    file: 'stores/ordered/own-entries.js',
    from: 'const needsNoWrite = hold.isKept &&',
    to: 'const needsNoWrite =',
  },
  'doubt forgotten': {
    about: 'a request whose reply was lost creates another entry when it is repeated',
    scenario: 'writes are lost',
    file: 'stores/ordered/own-entries.js',
    from: 'this.inDoubt.add(owner);',
    to: ';',
  },
  'deletion not repeated': {
    about: 'an entry that could not be deleted is left after a reconnect',
    scenario: 'waiters that expire',
    file: 'stores/ordered/own-entries.js',
    from: 'this.unwanted.set(path, key);',
    to: '',
  },
  'lost wake-up': {
    about: 'a waiter relies on a watch of an entry that is gone',
    scenario: 'a store that only keeps the queue',
    file: 'stores/ordered/acquirer.js',
    from: 'own.unwatch(entry, [path]);\n            return isWatched;',
    to: 'own.unwatch(entry, [path]);\n            return true;',
  },
  'tokens reserved twice': {
    about: 'reserved tokens are those of the hold',
    scenario: 'reserved tokens',
    file: 'stores/ordered/own-entries.js',
    from: 'token: driver.tokenOf(revision), othersWait',
    to: 'token: hold.token, othersWait',
  },
  'large request overtaken': {
    about: 'a waiter holds permits before there are enough',
    scenario: 'several permits',
    file: 'stores/ordered/acquirer.js',
    from: 'index < queue.holderCount',
    to: 'index <= queue.holderCount',
  },
  'claim lease not written': {
    about: 'a hold relies on a claim lease that its entry does not name',
    scenario: 'claim leases that change',
    file: 'stores/ordered/acquirer.js',
    from: 'entry.claimLease >= claimLease',
    to: 'true',
  },
  'extension overwritten': {
    about: 'a claim shortens the lease that was extended before it',
    scenario: 'extended before the claim',
    file: 'stores/ordered/own-entries.js',
    from: '...request, lease: Math.max(request.lease, other?.lease ?? 0), isRenewed',
    to: '...request, isRenewed',
  },
};

/** In the scripts, which are compared with the model. */
export const SCRIPT_PLANTS = {
  'shortened lease': {
    about: 'a renewal shortens a lease',
    scenario: 'exclusive, leases',
    from: "if exactly or claimed or redis.call('PTTL', lock) < lease then",
    to: 'if true then',
  },
  'dead waiter': {
    about: 'a waiter without heartbeats is granted the lock',
    scenario: 'exclusive, waiting',
    from: 'if not waiter or waiter.alive_until < now.ms then',
    to: 'if not waiter then',
  },
  'expired permit': {
    about: 'a permit counts after its lease',
    scenario: 'permits, waiting',
    from: 'if hold.ends <= now.ms then\nredis',
    to: 'if hold.ends <= now.ms - 500 then\nredis',
  },
  'permits summed wrongly': {
    about: 'waiters are granted more permits than there are',
    scenario: 'several permits, waiting',
    from: 'held = held + permits\nelse',
    to: 'held = held + 1\nelse',
  },
  'permits kept': {
    about: 'a hold of several permits gives back one',
    scenario: 'several permits, waiting',
    from: '-permits_of(hold.label)',
    to: '-1',
  },
  'large request overtaken': {
    about: 'free permits go to the next waiter that needs fewer',
    scenario: 'several permits, waiting',
    from: 'elseif not fits(held, waiter.limit, permits) then\nreturn first, held, false',
    to: 'elseif not fits(held, waiter.limit, permits) then\nindex = index + 1',
  },
  'late request': {
    about: 'a request is carried out after its owner was withdrawn',
    scenario: 'exclusive, late requests',
    from: "return { 'cancelled' }",
    to: '',
  },
  'token from before': {
    about: 'tokens come from the clock alone',
    scenario: 'exclusive, waiting',
    from: 'math.max(last + 1, now.us)',
    to: 'now.us',
  },
  'skipped waiter': {
    about: 'a waiter that could not be reached is not reported to the next holder',
    scenario: 'exclusive, lost subscriptions',
    from: 'push(waiter, owner, token, others_wait(queue, owner), now)',
    to: "push(waiter, owner, token, redis.call('ZCARD', queue) > index + 1 and 1 or 0, now)",
  },
  'late claim': {
    about: 'a claim that arrives again shortens a lease that was extended since',
    scenario: 'redisson, leases',
    from: "local claimed = is_claim and redis.call('HDEL', lock, 'unclaimed') == 1",
    to: 'local claimed = is_claim',
  },
  'token from before an outage': {
    about: "tokens at Redisson's lock do not rise above those that a process gave by itself",
    scenario: 'redisson, local tokens',
    from: 'if first < least then',
    to: 'if false then',
  },
  "late request at Redisson's lock": {
    about: 'a request is carried out after its owner was withdrawn',
    scenario: 'redisson, late requests',
    from: 'return -4',
    to: '',
  },
  'claim forgotten': {
    about: 'a repeated request of an owner does not claim its pushed grant',
    scenario: 'redisson, leases',
    from: 'keep(lock, lease, lease > 0)',
    to: 'keep(lock, lease, false)',
  },
  'fair waiter of Java overtaken': {
    about: 'a lock is granted although a waiter of RFairLock comes first',
    scenario: 'redisson, fair waiters of Java',
    from: 'if first_fair_waiter(queue, timeouts, now) then\nreturn -3',
    to: 'if false then\nreturn -3',
  },
  'dead fair waiter': {
    about: 'a waiter of RFairLock keeps the lock from others after it has given up',
    scenario: 'redisson, fair waiters of Java',
    from: 'if not ends or tonumber(ends) > now.ms then',
    to: 'if true then',
  },
  'own subscription counted': {
    about: 'a process counts itself among the clients that wait',
    scenario: 'redisson, listeners',
    from: 'count[2] > tonumber(is_listening)',
    to: 'count[2] > 0',
  },
  'Java not woken': {
    about: 'a release wakes no client of Redisson',
    scenario: 'redisson, beside Java',
    from: "redis.call(publish, channel, '0')",
    to: '',
  },
  'lock of Java released': {
    about: 'a release frees a lock that another owner holds',
    scenario: 'redisson, beside Java',
    from: "if redis.pcall('HEXISTS', lock, owner) == 1 then\nfree",
    to: "if redis.pcall('EXISTS', lock) == 1 then\nfree",
  },
  'another object deleted': {
    about: 'a break deletes the RReadWriteLock at the name of the lock',
    scenario: 'redisson, all',
    from: "if fields[1] then\nreturn 'type RReadWriteLock'",
    to: "if false then\nreturn 'type RReadWriteLock'",
  },
};
