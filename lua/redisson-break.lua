-- redisson-break: frees a lock by force, as `forceUnlock` of Redisson does; or only if its hold has this
-- owner, this token or both. Notifies the holder's client if it uses this library.
--
-- KEYS[1] lock      hash: owner -> 1, token, since, unclaimed, label; Redisson: <client>:<thread> -> count
-- KEYS[2] channel   of unlock messages
-- KEYS[3] queue     list: waiters of RFairLock
-- KEYS[4] timeouts  sorted set: waiter of RFairLock by the time when it gives up, ms
-- ARGV[1] mode      how clients subscribe here: p, s or a
-- ARGV[2] channels  start of the clients' channel names
-- ARGV[3] owner     '' for any
-- ARGV[4] token     '' for any
--
-- Reply: 1 (broken), 0 (the lock is free), -1 (held by others), or 'type <type>' for a value that is no
-- exclusive lock

-- @include redisson-free

local lock, mode, owner, token = KEYS[1], ARGV[1], ARGV[3], ARGV[4]
local fields = redis.pcall('HMGET', lock, 'mode', 'token')
if fields.err then
  return other_type(lock)
end
if redis.call('EXISTS', lock) == 0 then
  return 0
end
if fields[1] then
  return 'type RReadWriteLock'
end
local is_owner = owner == '' or redis.call('HEXISTS', lock, owner) == 1
if not is_owner or (token ~= '' and token ~= fields[2]) then
  return -1
end
local holders = fields[2] and redis.call('HKEYS', lock) or {}
free(lock, KEYS[2], KEYS[3], KEYS[4], mode)
for _, holder in ipairs(holders) do
  local client = string.match(holder, '^([^:]+):')
  if client then
    redis.pcall(mode == 's' and 'SPUBLISH' or 'PUBLISH', ARGV[2] .. client, 'broken ' .. holder)
  end
end
return 1
