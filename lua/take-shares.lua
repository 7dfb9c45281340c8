-- take-shares: for many locks at once, grants a permit or read lock of each that has room and no
-- waiters. This is the hot path of shared locks, so it uses few commands and reads each lock once for
-- all its requests. acquire handles the rest.
--
-- KEYS[2i-1] lock        hash: shared (include/shares.lua)
-- KEYS[2i]   queue       sorted set: owner by position
-- KEYS[#-1]  tombstones  sorted set: tombstones of owners (shared)
-- KEYS[#]    fence       last fencing token (shared)
-- ARGV[4i-3] owner  <client>:<number>
-- ARGV[4i-2] lease  ms
-- ARGV[4i-1] limit  number of permits, 0 for readers
-- ARGV[4i]   label  purpose, URI-encoded; '' for none; then '/<permits>' if several
-- ARGV[#]    tokens  how many fencing tokens to reserve for each (shared)
--
-- Reply: for each lock {first token, since ms} if granted; else the ms until a lease may expire, -3 if
-- it has room but earlier waiters, or -2 where acquire must decide: the limits differ, the owner has a
-- tombstone or holds it already, or its name has a value of another type

-- @include shares
-- @include tokens
-- @include tombstones

local tombstones, fence, tokens = KEYS[#KEYS - 1], KEYS[#KEYS], tonumber(ARGV[#ARGV])
local count = (#ARGV - 1) / 4
local has_tombstones = redis.call('EXISTS', tombstones) == 1
local now = clock()
local since = digits(now.ms)
local replies, locks, token = {}, {}, nil

-- What the requests for a lock have in common. Without `held`, none can be granted here.
local function look_at(lock, queue, limit)
  local fields = redis.pcall('HMGET', lock, 'limit', 'due', 'extra')
  if fields.err then
    return {}
  end
  local held, others_limit, due = shares_of(lock, fields[1], fields[2], fields[3], now, true)
  local is_whole = held == 0 and redis.call('EXISTS', lock) == 1
  local has_queue = redis.call('EXISTS', queue) == 1
  return { held = held, limit = others_limit or limit, due = due, is_whole = is_whole, has_queue = has_queue, lease = 0 }
end

local function is_known(lock, owner)
  return (has_tombstones and has_tombstone(tombstones, owner)) or redis.call('HEXISTS', lock, owner) == 1
end

-- The reply for a request that is not granted.
local function left_of(lock, all, limit, owner, permits)
  local is_full = all.is_whole and limit == 0 or (limit == all.limit and not fits(all.held, limit, permits))
  -- An expired lease may have made room for a waiter that needs fewer permits: acquire serves it.
  if is_full and all.has_queue and permits > 1 and fits(all.held, limit, 1) then
    is_full = false
  end
  local is_behind = all.has_queue and not all.is_whole and limit == all.limit
  if not (is_full or is_behind) or is_known(lock, owner) then
    return -2
  end
  if not is_full then
    return -3
  end
  return all.is_whole and redis.call('PTTL', lock) or left_for(lock, limit, permits, all.due, now)
end

local function take_share(lock, all, owner, lease, limit, label, permits)
  local share = { ends = now.ms + lease, token = digits(token), since = since, unclaimed = '0', label = label }
  if all.due and share.ends >= all.due then
    redis.call('HSET', lock, owner, encode_share(share))
  else
    all.due = share.ends
    redis.call('HSET', lock, owner, encode_share(share), 'limit', limit, 'due', digits(share.ends))
  end
  if permits > 1 then
    count_extra(lock, label, 1)
  end
  all.held = all.held + permits
  all.lease = math.max(all.lease, lease)
  token = token + tokens
  return { share.token, since }
end

for i = 1, count do
  local lock, owner, lease, limit = KEYS[2 * i - 1], ARGV[4 * i - 3], tonumber(ARGV[4 * i - 2]), tonumber(ARGV[4 * i - 1])
  local permits = permits_of(ARGV[4 * i])
  local all = locks[lock] or look_at(lock, KEYS[2 * i], limit)
  locks[lock] = all
  if not all.held then
    replies[i] = -2
  elseif all.is_whole or all.has_queue or limit ~= all.limit or not fits(all.held, limit, permits) then
    replies[i] = left_of(lock, all, limit, owner, permits)
  elseif (all.held > 0 or has_tombstones) and is_known(lock, owner) then
    replies[i] = -2
  else
    -- One step of the counter for all that this call may grant.
    token = token or reserve_tokens(fence, (count - i + 1) * tokens, now)
    replies[i] = take_share(lock, all, owner, lease, limit, ARGV[4 * i], permits)
  end
end

for lock, all in pairs(locks) do
  if all.lease and all.lease > 0 and redis.call('PTTL', lock) < all.lease then
    redis.call('PEXPIRE', lock, all.lease)
  end
end
return replies
