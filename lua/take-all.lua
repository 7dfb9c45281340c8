-- take-all: grants several locks, or shares of them, to one caller at once: all of them if
-- each has room and nobody waits for it, else none.
--
-- KEYS[3i-2] lock   hash: owner -> 1, token, since, unclaimed, label; or shares (include/shares.lua)
-- KEYS[3i-1] queue  sorted set: owner by ticket
-- KEYS[3i]   gone   tombstone of this owner
-- KEYS[#]    fence  last fencing token (shared)
-- ARGV[4i-3] owner  <client>:<number>
-- ARGV[4i-2] lease  ms
-- ARGV[4i-1] limit  how many may hold the lock at once, 0 for any number
-- ARGV[4i]   label  what for, without blanks
--
-- Reply: for each lock {token, since ms}, or {the index from 0 of the first that can't be had at once}

-- @include clock
-- @include shares
-- @include grant

local now = now_us()

for i = 4, #ARGV, 4 do
  local k = i / 4 * 3
  local lock = KEYS[k - 2]
  if redis.call('EXISTS', KEYS[k - 1], KEYS[k]) > 0 then
    return { i / 4 - 1 }
  end
  if redis.call('EXISTS', lock) == 1 then
    local facts = redis.pcall('HMGET', lock, ARGV[i - 3], 'limit', 'due')
    if facts.err or facts[1] or not facts[2] then
      return { i / 4 - 1 }
    end
    local held, others_limit = shares_of(lock, facts[2], facts[3], now, true)
    local limit = tonumber(ARGV[i - 1])
    if held > 0 and not (limit == others_limit and fits(held, limit)) then
      return { i / 4 - 1 }
    end
  end
end

local replies = {}
for i = 4, #ARGV, 4 do
  local limit = tonumber(ARGV[i - 1])
  local token = grant(KEYS[i / 4 * 3 - 2], KEYS[#KEYS], ARGV[i - 3], limit, ARGV[i - 2], now, 1, ARGV[i])
  replies[i / 4] = { token, digits(math.floor(now / 1000)) }
end
return replies
