-- touch: writes to a lock that its owner holds, without changing anything, so that
-- WAIT on this connection covers a grant which another connection wrote.
--
-- KEYS[1] lock  hash: owner -> 1, token, since, unclaimed
-- ARGV[1] owner  <client uuid>:<number>
--
-- Reply: 1 if the owner holds the lock, else 0

local held = redis.call('HEXISTS', KEYS[1], ARGV[1])
if held == 1 then
  redis.call('HSET', KEYS[1], ARGV[1], '1')
end
return held
