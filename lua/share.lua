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
-- Reply: for each lock {token, since ms}, if granted; else for how many ms others hold it at
-- least if nobody lets go, -3 if there is room but others came first, or -2 where acquire has
-- to see: others have another limit, it has a tombstone, this owner has a share already, or
-- something else is at its name

-- @include clock
-- @include shares
-- @include grant

local now = now_us()
local since = digits(math.floor(now / 1000))
local replies, locks, token = {}, {}, nil

-- What all who ask for a lock share; without `held` none can be granted here.
local function look_at(lock, queue, limit)
  local facts = redis.pcall('HMGET', lock, 'limit', 'due')
  if facts.err then
    return {}
  end
  local held, of, due = shares_of(lock, facts[1], facts[2], now, true)
  local is_whole = held == 0 and redis.call('EXISTS', lock) == 1
  local has_queue = redis.call('EXISTS', queue) == 1
  return { held = held, limit = of or limit, due = due, is_whole = is_whole, has_queue = has_queue, lease = 0 }
end

-- For how long a lock without room is held, -3 if others came first, or -2.
local function left_of(lock, all, limit, gone, owner)
  local is_full = all.is_whole and limit == 0 or (limit == all.limit and not fits(all.held, limit))
  local is_behind = all.has_queue and not all.is_whole and limit == all.limit
  if not (is_full or is_behind) or redis.call('EXISTS', gone) == 1 or redis.call('HEXISTS', lock, owner) == 1 then
    return -2
  end
  if not is_full then
    return -3
  end
  if all.is_whole then
    return redis.call('PTTL', lock)
  end
  return math.max(0, all.due - math.floor(now / 1000))
end

for i = 4, #ARGV, 4 do
  local k = i / 4 * 3
  local lock, owner, lease, limit = KEYS[k - 2], ARGV[i - 3], tonumber(ARGV[i - 2]), tonumber(ARGV[i - 1])
  local all = locks[lock] or look_at(lock, KEYS[k - 1], limit)
  locks[lock] = all
  if not all.held then
    replies[i / 4] = -2
  elseif all.is_whole or all.has_queue or limit ~= all.limit or not fits(all.held, limit) then
    replies[i / 4] = left_of(lock, all, limit, KEYS[k], owner)
  elseif redis.call('EXISTS', KEYS[k]) == 1 or (all.held > 0 and redis.call('HEXISTS', lock, owner) == 1) then
    replies[i / 4] = -2
  else
    -- One step of the counter for all that this call may grant.
    token = token or tonumber(reserve_tokens(KEYS[#KEYS], (#ARGV - i) / 4 + 1, now))
    local ends = math.floor(now / 1000) + lease
    local facts = table.concat({ digits(ends), digits(token), since, '0', '=' .. ARGV[i] }, ' ')
    if all.due and ends >= all.due then
      redis.call('HSET', lock, owner, facts)
    else
      all.due = ends
      redis.call('HSET', lock, owner, facts, 'limit', limit, 'due', digits(ends))
    end
    all.held = all.held + 1
    all.lease = math.max(all.lease, lease)
    replies[i / 4] = { digits(token), since }
    token = token + 1
  end
end

for lock, all in pairs(locks) do
  if all.lease and all.lease > 0 and redis.call('PTTL', lock) < all.lease then
    redis.call('PEXPIRE', lock, all.lease)
  end
end
return replies
