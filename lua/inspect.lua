-- inspect: who holds the lock or shares of it, since when, for how long and what for, and
-- who waits for it, in order.
--
-- KEYS[1] lock     hash: owner -> 1, token, since, unclaimed, label; or shares (include/shares.lua)
-- KEYS[2] queue    sorted set: owner by ticket
-- KEYS[3] waiters  hash: owner -> alive until, claim lease, callers, missed, tokens, way, limit, label, channel
--
-- Reply: {limit, holders, waiters}, or {} if the lock is free; for each holder owner, token,
-- since ms, ttl ms, label; for each waiter owner, callers, limit, label

-- @include clock
-- @include shares
-- @include grant
-- @include queue

local lock = KEYS[1]
local now = now_us()
local limit, holders, waiting = 1, {}, {}

local facts = redis.call('HMGET', lock, 'limit', 'due')
local held, of = shares_of(lock, facts[1], facts[2], now)
local fields = redis.call('HGETALL', lock)
if #fields == 0 then
  return {}
end

local function add(list, ...)
  for _, word in ipairs({ ... }) do
    list[#list + 1] = word
  end
end

if held > 0 then
  limit = of
  for i = 1, #fields, 2 do
    if string.find(fields[i], ':', 1, true) then
      local ends, token, since, _, label = share_facts(fields[i + 1])
      add(holders, fields[i], token, since, ends - math.floor(now / 1000), label)
    end
  end
else
  local owner, whole = '', {}
  for i = 1, #fields, 2 do
    local field = fields[i]
    if field == 'token' or field == 'since' or field == 'label' or field == 'unclaimed' then
      whole[field] = fields[i + 1]
    else
      owner = field
    end
  end
  local since = since_of(whole.since, whole.token)
  add(holders, owner, whole.token or '', since or '', redis.call('PTTL', lock), whole.label or '')
end

for _, waiter in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  local alive_until, _, callers, _, _, _, wanted, label = waiter_facts(KEYS[3], waiter)
  if alive_until >= now / 1000 then
    add(waiting, waiter, callers, wanted, label)
  end
end

return { limit, holders, waiting }
