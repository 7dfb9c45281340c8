-- share: for many locks at once, grants a share of each that has room and for which nobody
-- waits. The path of readers beside each other and of a semaphore with free shares, so it
-- comes with as few commands as possible; acquire sees to the rest.
--
-- KEYS[3i-2] lock   hash: shares (include/shares.lua)
-- KEYS[3i-1] queue  sorted set: owner by ticket
-- KEYS[3i]   gone   tombstone of this owner
-- KEYS[#]    fence  last fencing token (shared)
-- ARGV[4i-3] owner  <client>:<number>
-- ARGV[4i-2] lease  ms
-- ARGV[4i-1] limit  how many may hold the lock at once, 0 for any number
-- ARGV[4i]   label  what for, without blanks
--
-- Reply: for each lock its token and the time in ms of the grant, {token, since}, or -2 where
-- acquire has to see: it is held by others, it has a queue or a tombstone, this owner has a
-- share already, or something else is at its name

-- @include clock
-- @include shares
-- @include grant

local now = now_us()
local since = digits(math.floor(now / 1000))
local token = tonumber(reserve_tokens(KEYS[#KEYS], #ARGV / 4, now))
local replies = {}

local function has_room(lock, queue, gone, owner, limit)
  if redis.call('EXISTS', queue, gone) > 0 then
    return false
  end
  local facts = redis.pcall('HMGET', lock, owner, 'limit', 'due')
  if facts.err or facts[1] then
    return false
  end
  local held, others_limit, due = shares_of(lock, facts[2], facts[3], now)
  if held == 0 then
    return redis.call('EXISTS', lock) == 0
  end
  return limit == others_limit and fits(held, limit), due
end

for i = 4, #ARGV, 4 do
  local k = i / 4 * 3
  local lock, owner, limit = KEYS[k - 2], ARGV[i - 3], tonumber(ARGV[i - 1])
  local room, due = has_room(lock, KEYS[k - 1], KEYS[k], owner, limit)
  if room then
    write_share(lock, owner, limit, due, now, ARGV[i - 2], digits(token), since, '0', ARGV[i])
    replies[i / 4] = { digits(token), since }
    token = token + 1
  else
    replies[i / 4] = -2
  end
end
return replies
