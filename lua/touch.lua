-- touch: rewrites a hold without changing it, so that WAIT on this connection covers a grant that
-- another connection wrote.
--
-- KEYS[1] lock  hash: owner -> 1, token, since, unclaimed, label; or shared (include/shared-holds.lua)
-- ARGV[1] owner  <client>:<number>
--
-- Reply: 1 if the owner holds the lock, else 0

local mine = redis.call('HGET', KEYS[1], ARGV[1])
if not mine then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], mine)
return 1
