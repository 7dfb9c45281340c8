-- redisson-renew: for many locks at once, renews the lease of each that its owner still holds, and
-- reserves fencing tokens for the owner's next holds. Never creates a lock, and never shortens a lease
-- unless it is negative, or that of a pushed grant at its first claim.
--
-- KEYS[4i-3] lock     hash: owner -> 1, token, since, unclaimed, label
-- KEYS[4i-2] channel  of unlock messages
-- KEYS[4i-1] counter  last fencing token
-- KEYS[4i]   queue    list: waiters of RFairLock
-- ARGV[4i-3] owner      <client>:<number>
-- ARGV[4i-2] lease      ms; negative to set exactly this lease, 0 to keep it as it is
-- ARGV[4i-1] tokens     how many to reserve; 0 for none
-- ARGV[4i]   listening  1 if this client listens on the channel, else 0
-- ARGV[#-1]  mode       how clients subscribe here: p, s or a (shared)
-- ARGV[#]    floor      last token of this client's own; '' if it never grants locks by itself (shared)
--
-- Reply: for each lock 1 (renewed), {first token, 1 if others wait else 0} if tokens were reserved, 0 (gone)
-- or -1 (held by another owner)

-- @include redisson
-- @include redisson-tokens

local call = redis.call
local mode, floor = ARGV[#ARGV - 1], ARGV[#ARGV]

local function renew(lock, channel, counter, queue, owner, lease, tokens, is_listening)
  -- pcall: a value of another type at the lock's name must not fail the other locks.
  if redis.pcall('HEXISTS', lock, owner) ~= 1 then
    return call('EXISTS', lock) == 1 and -1 or 0
  end
  if lease ~= 0 then
    keep(lock, lease, true, lease < 0)
  end
  local count = tonumber(tokens)
  if count == 0 then
    return 1
  end
  return { digits(reserve_tokens(counter, count, floor)), others_wait(mode, channel, is_listening, queue) }
end

local replies = {}
for i = 1, #KEYS / 4 do
  local k = 4 * i - 4
  replies[i] = renew(
    KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], KEYS[k + 4],
    ARGV[k + 1], tonumber(ARGV[k + 2]), ARGV[k + 3], ARGV[k + 4]
  )
end
return replies
