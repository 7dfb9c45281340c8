-- Gives a lock at least its lease again if its owner still holds it. Never creates a
-- lock and never shortens a lease, so that a late copy of the request does no harm;
-- only the first claim of a pushed grant sets the lease exactly.
-- Answers 1 (renewed), 0 (gone) or -1 (held by someone else).
local function renew(lock, owner, lease)
  -- Something else at the lock's name is not held by us, and no matter of the other locks.
  if redis.pcall('HEXISTS', lock, owner) ~= 1 then
    return redis.call('EXISTS', lock) == 1 and -1 or 0
  end
  if redis.call('HDEL', lock, 'unclaimed') == 1 or redis.call('PTTL', lock) < tonumber(lease) then
    redis.call('PEXPIRE', lock, lease)
  end
  return 1
end
