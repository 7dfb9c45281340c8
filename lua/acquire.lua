-- acquire: grants the lock, exclusive or shared, if it has room and no waiter comes first. Otherwise,
-- if the request waits, adds the owner to the queue or keeps its position. A repeated request of an
-- owner that already holds the lock returns that grant and claims it.
--
-- KEYS[1] lock        hash: owner -> 1, token, since, unclaimed, label; or shared (include/shared-holds.lua)
-- KEYS[2] queue       sorted set: owner by position
-- KEYS[3] waiters     hash: owner -> record (include/queue.lua)
-- KEYS[4] tombstones  sorted set: tombstones of owners (shared)
-- KEYS[5] fence       last fencing token (shared)
-- ARGV[1]  owner      <client>:<number>
-- ARGV[2]  lease      ms
-- ARGV[3]  wait       1 to queue if busy, 0 to try once
-- ARGV[4]  claim      lease of a pushed grant, ms
-- ARGV[5]  waiterTtl  how long a waiter stays queued without a poll, ms
-- ARGV[6]  callers    how many callers wait under this owner
-- ARGV[7]  tokens     how many fencing tokens to reserve with the grant
-- ARGV[8]  mode       how the client subscribes: p, s or a (include/queue.lua)
-- ARGV[9]  channel    of the client
-- ARGV[10] limit      number of permits: 1 exclusive, 0 readers
-- ARGV[11] label      purpose, URI-encoded; '' for none; then '/<permits>' if several
--
-- Reply: {'granted', first token, since ms, tokens, 1 if other clients wait else 0}
--      | {'queued', ttl ms, server time us} | {'busy', ttl ms, server time us}
--      | {'cancelled'} | {'conflict', limit of the others}

-- @include hand-over
-- @include renew
-- @include tombstones

local lock, queue, waiters, tombstones, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, lease, wait = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local tokens, limit, label = tonumber(ARGV[7]), tonumber(ARGV[10]), ARGV[11]
local permits = permits_of(label)
local now = clock()

if has_tombstone(tombstones, owner) then
  return { 'cancelled' }
end

local mine, token, since = unpack(redis.call('HMGET', lock, owner, 'token', 'since'))

if mine and renew(lock, owner, lease, now) == 1 then
  if mine ~= '1' then
    local hold = decode_hold(mine)
    token, since = hold.token, hold.since
  end
  -- One token only: the others reserved with the grant may be in use.
  return { 'granted', token, since_of(since, token), 1, others_wait(queue, owner) }
end

local held, others_limit = permits_held(lock, now, true)
local is_whole = held == 0 and redis.call('EXISTS', lock) == 1
if is_whole then
  others_limit = 1
end

-- A request that does not wait must agree with the waiters, too: they are served first.
if not (wait and redis.call('ZSCORE', queue, owner)) then
  local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')
  if last[1] and not others_limit then
    local waiter = waiter_of(waiters, last[1])
    others_limit = waiter and waiter.limit or 1
  end
  if wait and (not others_limit or limits_agree(limit, others_limit)) then
    redis.call('ZADD', queue, (tonumber(last[2]) or 0) + 1, owner)
  end
end

if others_limit and not limits_agree(limit, others_limit) then
  leave_queue(queue, waiters, owner)
  if not is_whole then
    hand_over(lock, queue, waiters, fence, now, nil, held)
  end
  return { 'conflict', others_limit }
end

if wait then
  local before = waiter_of(waiters, owner)
  write_waiter(waiters, owner, {
    alive_until = now.ms + tonumber(ARGV[5]),
    claim = ARGV[4],
    callers = ARGV[6],
    heard = before and before.heard ~= HEARD and HEARD_AGAIN or HEARD,
    tokens = tokens,
    mode = ARGV[8],
    limit = limit,
    label = label,
    channel = ARGV[9],
  })
  redis.call('PEXPIRE', queue, ARGV[5])
  redis.call('PEXPIRE', waiters, ARGV[5])
end

if not is_whole then
  if not wait then
    -- No effect, but a server that is out of memory rejects the request here. The hand-over below may
    -- begin with a write that needs no memory.
    redis.call('ZADD', queue, 'XX', 'GT', 0, owner)
  end
  local first, holding, is_last = hand_over(lock, queue, waiters, fence, now, owner, held)
  if first == owner or (is_last and fits(holding, limit, permits)) then
    leave_queue(queue, waiters, owner)
    token = grant(lock, fence, owner, limit, lease, now, tokens, label)
    if limit ~= 1 then
      hand_over(lock, queue, waiters, fence, now, nil, holding + permits)
    end
    return { 'granted', token, digits(now.ms), tokens, others_wait(queue, owner) }
  end
end

local left = redis.call('PTTL', lock)
if limit ~= 1 then
  local due = redis.call('HGET', lock, 'due')
  left = due and left_for(lock, limit, permits, tonumber(due), now) or left
end
return { wait and 'queued' or 'busy', left, digits(now.us) }
