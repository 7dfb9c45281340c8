-- share: for many locks at once, grants a share of each that has room and for which nobody
-- waits. The path of readers beside each other and of a semaphore with free shares, so it
-- comes with as few commands as possible, and looks at a lock once for all who ask for it;
-- acquire sees to the rest.
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
-- Reply: for each lock {token, since ms}, or -2 where acquire has to see: it is held by
-- others, it has a queue or a tombstone, this owner has a share already, or something else
-- is at its name

-- @include clock
-- @include shares
-- @include grant

local now = now_us()
local since = digits(math.floor(now / 1000))
local token = tonumber(reserve_tokens(KEYS[#KEYS], #ARGV / 4, now))
local replies, locks = {}, {}

-- What all who ask for a lock share; without a limit none can be granted here.
local function look_at(lock, queue, limit)
  if redis.call('EXISTS', queue) == 1 then
    return {}
  end
  local facts = redis.pcall('HMGET', lock, 'limit', 'due')
  if facts.err then
    return {}
  end
  local held, of, due = shares_of(lock, facts[1], facts[2], now)
  if held == 0 and redis.call('EXISTS', lock) == 1 then
    return {}
  end
  return { held = held, limit = of or limit, due = due, lease = 0 }
end

for i = 4, #ARGV, 4 do
  local k = i / 4 * 3
  local lock, owner, lease, limit = KEYS[k - 2], ARGV[i - 3], tonumber(ARGV[i - 2]), tonumber(ARGV[i - 1])
  local all = locks[lock] or look_at(lock, KEYS[k - 1], limit)
  locks[lock] = all
  replies[i / 4] = -2
  if limit == all.limit and fits(all.held, limit) and redis.call('EXISTS', KEYS[k]) == 0 then
    local ends = math.floor(now / 1000) + lease
    local facts = table.concat({ digits(ends), digits(token), since, '0', '=' .. ARGV[i] }, ' ')
    if redis.call('HSETNX', lock, owner, facts) == 1 then
      if not all.due or ends < all.due then
        all.due = ends
        redis.call('HSET', lock, 'limit', limit, 'due', digits(ends))
      end
      all.held = all.held + 1
      all.lease = math.max(all.lease, lease)
      replies[i / 4] = { digits(token), since }
      token = token + 1
    end
  end
end

for lock, all in pairs(locks) do
  if all.lease and all.lease > 0 and redis.call('PTTL', lock) < all.lease then
    redis.call('PEXPIRE', lock, all.lease)
  end
end
return replies
