-- redisson-take: for many locks at once, grants each that is free, as Redisson does: the owner becomes a
-- field with the count 1, and the counter of RFencedLock goes up. The other fields describe the hold. A
-- repeated request of an owner that already holds the lock returns that grant and claims it.
--
-- KEYS[6i-5] lock      hash: owner -> 1, token, since, unclaimed, label; Redisson: <client>:<thread> -> count
-- KEYS[6i-4] channel   of unlock messages
-- KEYS[6i-3] counter   last fencing token
-- KEYS[6i-2] gone      sorted set: tombstones of owners
-- KEYS[6i-1] queue     list: waiters of RFairLock
-- KEYS[6i]   timeouts  sorted set: waiter of RFairLock by the time when it gives up, ms
-- ARGV[5i-4] owner      <client>:<number>
-- ARGV[5i-3] lease      ms; negative for a pushed grant, whose first renewal sets the lease exactly
-- ARGV[5i-2] tokens     how many fencing tokens to reserve
-- ARGV[5i-1] label      encoded; '' for none
-- ARGV[5i]   listening  1 if this client listens on the channel, else 0
-- ARGV[#-2]  mode       how clients subscribe here: p, s or a (shared)
-- ARGV[#-1]  shortest   how many tokens to reserve at most while others wait (shared)
-- ARGV[#]    floor      last token of this client's own; '' if it never grants locks by itself (shared)
--
-- Reply: for each lock {first token, since ms, how many tokens, 1 if others wait else 0} if granted, or its
-- ttl in ms, or -3 if a waiter of RFairLock comes first, -4 if the owner has a tombstone, or 'type <type>'
-- for a value that is no hash

-- @include redisson
-- @include redisson-tokens
-- @include tombstones

local call = redis.call
local mode, shortest, floor = ARGV[#ARGV - 2], tonumber(ARGV[#ARGV - 1]), ARGV[#ARGV]
local now = clock()

local function take(lock, channel, counter, gone, queue, timeouts, owner, lease, tokens, label, is_listening)
  if call('EXISTS', lock, gone, queue) > 0 then
    local mine = redis.pcall('HMGET', lock, owner, 'token', 'since')
    if mine.err then
      return other_type(lock)
    end
    if mine[1] then
      keep(lock, lease, lease > 0)
      return { mine[2], mine[3], 1, others_wait(mode, channel, is_listening, queue) }
    end
    if has_tombstone(gone, owner) then
      return -4
    end
    if call('EXISTS', lock) == 1 then
      -- No effect, but a former primary that is a replica now rejects the request here: its client has to
      -- find the new one.
      call('ZREM', gone, '')
      return call('PTTL', lock)
    end
    if first_fair_waiter(queue, timeouts, now) then
      return -3
    end
  end
  local count, others = tonumber(tokens), others_wait(mode, channel, is_listening, queue)
  if others == 1 then
    count = math.min(count, shortest)
  end
  local token = digits(reserve_tokens(counter, count, floor))
  local since = digits(now.ms)
  if label == '' then
    call('HSET', lock, owner, '1', 'token', token, 'since', since)
  else
    call('HSET', lock, owner, '1', 'token', token, 'since', since, 'label', label)
  end
  if lease < 0 then
    call('HSET', lock, 'unclaimed', '1')
  end
  call('PEXPIRE', lock, math.abs(lease))
  return { token, since, count, others }
end

local replies = {}
for i = 1, #KEYS / 6 do
  local k, a = 6 * i - 6, 5 * i - 5
  replies[i] = take(
    KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], KEYS[k + 4], KEYS[k + 5], KEYS[k + 6],
    ARGV[a + 1], tonumber(ARGV[a + 2]), ARGV[a + 3], ARGV[a + 4], ARGV[a + 5]
  )
end
return replies
