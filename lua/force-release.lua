-- force-release: breaks all holds of the lock, notifies the clients of the holders, and grants the
-- lock to waiters.
--
-- KEYS[1] lock     hash: owner -> 1, token, since, unclaimed, label; or shared (include/shares.lua)
-- KEYS[2] queue    sorted set: owner by position
-- KEYS[3] waiters  hash: owner -> record (include/queue.lua)
-- KEYS[4] fence    last fencing token
-- ARGV[1] mode      how clients subscribe here: p, s or a (include/queue.lua)
-- ARGV[2] channels  start of the clients' channel names
--
-- Reply: 1 if the lock was held, else 0

-- @include hand-over

local lock, queue, waiters, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now = clock()

local fields = redis.call('HMGET', lock, 'limit', 'due', 'extra')
if fields[1] then
  shares_of(lock, fields[1], fields[2], fields[3], now)
end
local held = redis.call('HKEYS', lock)
if #held > 0 then
  redis.call('DEL', lock)
  for _, field in ipairs(held) do
    local client = string.match(field, '^([^:]+):')
    if client then
      redis.pcall(ARGV[1] == 's' and 'SPUBLISH' or 'PUBLISH', ARGV[2] .. client, 'broken ' .. field)
    end
  end
end
if redis.call('EXISTS', queue) == 1 then
  serve(lock, queue, waiters, fence, now, true)
end
return #held > 0 and 1 or 0
