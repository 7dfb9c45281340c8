-- inspect: returns the holders of a lock and its waiters in the order of the queue.
--
-- KEYS[1] lock     hash: owner -> 1, token, since, unclaimed, label; or shared (include/shared-holds.lua)
-- KEYS[2] queue    sorted set: owner by position
-- KEYS[3] waiters  hash: owner -> record (include/queue.lua)
--
-- Reply: {limit, holders, waiters}, or {} if the lock is free. A flat list of owner, token, since ms,
-- ttl ms, label for each holder; of owner, callers, limit, label for each waiter. Labels end with
-- '/<permits>' if there are several

-- @include grant
-- @include queue

local lock, queue, waiters = KEYS[1], KEYS[2], KEYS[3]
local now = clock()
local holders, waiting = {}, {}

local held, limit = permits_held(lock, now)
local all = redis.call('HGETALL', lock)
if #all == 0 then
  return {}
end
local token, since, label = unpack(redis.call('HMGET', lock, 'token', 'since', 'label'))

local function add(list, ...)
  for _, field in ipairs({ ... }) do
    list[#list + 1] = field
  end
end

-- Every other field is an owner, also of a lock of other software.
local FACTS = {
  token = true, since = true, label = true, unclaimed = true, -- of an exclusive lock
  limit = true, held = true, due = true, -- of a shared one
}
for i = 1, #all, 2 do
  local owner = all[i]
  if not FACTS[owner] and held > 0 then
    local hold = decode_hold(all[i + 1])
    add(holders, owner, hold.token, hold.since, hold.ends - now.ms, hold.label)
  elseif not FACTS[owner] then
    add(holders, owner, token or '', since_of(since, token) or '', redis.call('PTTL', lock), label or '')
  end
end

for _, owner in ipairs(redis.call('ZRANGE', queue, 0, -1)) do
  local waiter = waiter_of(waiters, owner)
  if waiter and waiter.alive_until >= now.ms then
    add(waiting, owner, waiter.callers, waiter.limit, waiter.label)
  end
end

return { limit or 1, holders, waiting }
