-- renew: for many locks at once, gives each at least its lease again if its owner
-- still holds it. Never creates a lock and never shortens a lease, so that a late
-- copy of this request does no harm; only the first claim of a pushed grant sets
-- the lease exactly.
--
-- KEYS[i] lock  hash: owner -> 1, token, since, unclaimed
-- ARGV[2i-1] owner  <client uuid>:<number>
-- ARGV[2i]   lease  ms
--
-- Reply: for each lock 1 (renewed), 0 (gone) or -1 (held by someone else)

local replies = {}
for i, lock in ipairs(KEYS) do
  local owner, lease = ARGV[2 * i - 1], ARGV[2 * i]
  if redis.call('HEXISTS', lock, owner) == 1 then
    if redis.call('HDEL', lock, 'unclaimed') == 1 or redis.call('PTTL', lock) < tonumber(lease) then
      redis.call('PEXPIRE', lock, lease)
    end
    replies[i] = 1
  elseif redis.call('EXISTS', lock) == 1 then
    replies[i] = -1
  else
    replies[i] = 0
  end
end
return replies
