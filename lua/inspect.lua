-- inspect: who holds the lock, since when, for how long, and how many callers of
-- other clients wait for it.
--
-- KEYS[1] lock     hash: owner -> 1, token, since, unclaimed
-- KEYS[2] queue    sorted set: owner by ticket
-- KEYS[3] waiters  hash: owner -> alive until, claim lease, callers, missed, tokens, way, channel
-- ARGV[1] client  <client uuid>, whose own waiters are not counted
--
-- Reply: {owner, token, since ms, ttl ms, waiting}, or {} if the lock is free

-- @include clock
-- @include grant
-- @include queue

local owner, token, since = '', nil, nil
local fields = redis.call('HGETALL', KEYS[1])
if #fields == 0 then
  return {}
end
for i = 1, #fields, 2 do
  if fields[i] == 'token' then
    token = fields[i + 1]
  elseif fields[i] == 'since' then
    since = fields[i + 1]
  elseif fields[i] ~= 'unclaimed' then
    owner = fields[i]
  end
end

local waiting = 0
local now = now_us() / 1000
for _, waiter in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  local alive_until, _, callers = waiter_facts(KEYS[3], waiter)
  if alive_until >= now and client_of(waiter) ~= ARGV[1] then
    waiting = waiting + callers
  end
end

return { owner, token or '', since_of(since, token) or '', redis.call('PTTL', KEYS[1]), waiting }
