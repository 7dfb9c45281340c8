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
local limit, holders, waiting = 1, {}, {}

local fields = redis.call('HMGET', lock, 'limit', 'due', 'extra')
local held, shared_limit = permits_held(lock, fields[1], fields[2], fields[3], now)
local all = redis.call('HGETALL', lock)
if #all == 0 then
  return {}
end

local function add(list, ...)
  for _, field in ipairs({ ... }) do
    list[#list + 1] = field
  end
end

if held > 0 then
  limit = shared_limit
  for i = 1, #all, 2 do
    if is_owner(all[i]) then
      local hold = decode_hold(all[i + 1])
      add(holders, all[i], hold.token, hold.since, hold.ends - now.ms, hold.label)
    end
  end
else
  local FIELDS = { token = true, since = true, label = true, unclaimed = true }
  local owner, hold = '', {}
  for i = 1, #all, 2 do
    if FIELDS[all[i]] then
      hold[all[i]] = all[i + 1]
    else
      owner = all[i]
    end
  end
  local since = since_of(hold.since, hold.token)
  add(holders, owner, hold.token or '', since or '', redis.call('PTTL', lock), hold.label or '')
end

for _, owner in ipairs(redis.call('ZRANGE', queue, 0, -1)) do
  local waiter = waiter_of(waiters, owner)
  if waiter and waiter.alive_until >= now.ms then
    add(waiting, owner, waiter.callers, waiter.limit, waiter.label)
  end
end

return { limit, holders, waiting }
