-- acquire: takes the lock if it is free and nobody is before us; else, if asked
-- to wait, takes or keeps a place in its queue. Asking again with the same owner
-- answers the grant it already has (P30), and claims it.
--
-- KEYS[1] lock     hash: owner -> 1, token, since, unclaimed
-- KEYS[2] queue    sorted set: owner by ticket
-- KEYS[3] waiters  hash: owner -> alive until, claim lease, callers, missed, tokens, way, channel
-- KEYS[4] gone     tombstone of this owner
-- KEYS[5] fence    last fencing token
-- ARGV[1] owner     <client uuid>:<number>
-- ARGV[2] lease     ms
-- ARGV[3] wait      1 to queue when busy, 0 to ask once
-- ARGV[4] claim     ms, lease of a pushed grant
-- ARGV[5] patience  ms without a heartbeat after which a place is lost
-- ARGV[6] callers   how many callers wait behind this owner
-- ARGV[7] tokens    how many fencing tokens to reserve with the grant
-- ARGV[8] way       how the client listens: p, s or a
-- ARGV[9] channel   on which the client listens
--
-- Reply: {'granted', first token, since ms, tokens, 1 if other clients wait else 0}
--      | {'queued', ttl ms, server time us} | {'busy', ttl ms, server time us}
--      | {'cancelled'}

-- @include clock
-- @include grant
-- @include queue
-- @include hand-over

local lock, queue, waiters, gone, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, lease, wait, claim, tokens = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4], ARGV[7]
local now = now_us()

if redis.call('EXISTS', gone) == 1 then
  return { 'cancelled' }
end

if redis.call('HEXISTS', lock, owner) == 1 then
  -- A pushed grant gets exactly the lease; any other is never shortened.
  if redis.call('HDEL', lock, 'unclaimed') == 1 or redis.call('PTTL', lock) < tonumber(lease) then
    redis.call('PEXPIRE', lock, lease)
  end
  -- Tokens that were reserved with the grant are not told again: they may be in use.
  local token = redis.call('HGET', lock, 'token')
  return { 'granted', token, since_of(redis.call('HGET', lock, 'since'), token), 1, others_wait(queue, owner) }
end

if wait then
  if not redis.call('ZSCORE', queue, owner) then
    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')
    redis.call('ZADD', queue, (tonumber(last[2]) or 0) + 1, owner)
  end
  local alive_until = digits(math.floor(now / 1000) + tonumber(ARGV[5]))
  local _, _, _, missed = waiter_facts(waiters, owner)
  local facts = { alive_until, claim, ARGV[6], missed > 0 and 2 or 0, tokens, ARGV[8], ARGV[9] }
  redis.call('HSET', waiters, owner, table.concat(facts, ' '))
  redis.call('PEXPIRE', queue, ARGV[5])
  redis.call('PEXPIRE', waiters, ARGV[5])
end

if redis.call('EXISTS', lock) == 0 then
  local first = hand_over(lock, queue, waiters, fence, now, owner)
  if not first or first == owner then
    leave_queue(queue, waiters, owner)
    local token = grant(lock, fence, owner, lease, now, tokens)
    return { 'granted', token, digits(math.floor(now / 1000)), tokens, others_wait(queue, owner) }
  end
end

return { wait and 'queued' or 'busy', redis.call('PTTL', lock), digits(now) }
