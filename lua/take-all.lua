-- take-all: grants several locks to one caller, each exclusive or shared: all of them if each has room
-- and no waiters, else none.
--
-- KEYS[2i-1] lock        hash: owner -> 1, token, since, unclaimed, label; or shared (include/shares.lua)
-- KEYS[2i]   queue       sorted set: owner by position
-- KEYS[#-1]  tombstones  sorted set: tombstones of owners (shared)
-- KEYS[#]    fence       last fencing token (shared)
-- ARGV[4i-3] owner  <client>:<number>
-- ARGV[4i-2] lease  ms
-- ARGV[4i-1] limit  number of permits: 1 exclusive, 0 readers
-- ARGV[4i]   label  purpose, URI-encoded; '' for none; then '/<permits>' if several
--
-- Reply: for each lock {token, since ms}, or {index from 0 of the first that is not available}

-- @include grant
-- @include tombstones

local tombstones, fence = KEYS[#KEYS - 1], KEYS[#KEYS]
local now = clock()

local function has_room(lock, owner, limit, label)
  local fields = redis.pcall('HMGET', lock, owner, 'limit', 'due', 'extra')
  if fields.err or fields[1] then
    return false
  end
  if not fields[2] then
    return redis.call('EXISTS', lock) == 0
  end
  local held, others_limit = shares_of(lock, fields[2], fields[3], fields[4], now, true)
  return held == 0 or (limit == others_limit and fits(held, limit, permits_of(label)))
end

for i = 1, #ARGV / 4 do
  local lock, queue, owner, limit = KEYS[2 * i - 1], KEYS[2 * i], ARGV[4 * i - 3], tonumber(ARGV[4 * i - 1])
  local is_blocked = redis.call('EXISTS', queue) == 1 or has_tombstone(tombstones, owner)
  if is_blocked or not has_room(lock, owner, limit, ARGV[4 * i]) then
    return { i - 1 }
  end
end

local replies = {}
for i = 1, #ARGV / 4 do
  local owner, lease, limit, label = ARGV[4 * i - 3], ARGV[4 * i - 2], tonumber(ARGV[4 * i - 1]), ARGV[4 * i]
  local token = grant(KEYS[2 * i - 1], fence, owner, limit, lease, now, 1, label)
  replies[i] = { token, digits(now.ms) }
end
return replies
