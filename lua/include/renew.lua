-- @include shares

-- Gives a lock, or a share of it, at least its lease again if its owner still holds it, and
-- exactly this lease if it is negative. Never creates a lock and never shortens a lease
-- otherwise, so that a late copy of the request does no harm; only the first claim of a
-- pushed grant sets the lease exactly. With 0 it only tells whether the owner still holds
-- the lock. `now` is asked for where it is needed and not given.
-- Answers 1 (renewed), 0 (gone) or -1 (held by someone else).
local function renew(lock, owner, lease, now)
  local mine = redis.pcall('HGET', lock, owner)
  local exactly = tonumber(lease) < 0
  lease = math.abs(lease)
  if mine == '1' then
    if lease == 0 then
      return 1
    end
    local claimed = redis.call('HDEL', lock, 'unclaimed') == 1
    if exactly or claimed or redis.call('PTTL', lock) < lease then
      redis.call('PEXPIRE', lock, lease)
    end
    return 1
  end
  if type(mine) == 'string' and string.find(mine, ' ', 1, true) then
    return renew_share(lock, owner, decode_share(mine), lease, now or clock(), exactly) and 1 or 0
  end
  -- Something else at the lock's name is not held by us, and no matter of the other locks.
  if redis.call('EXISTS', lock) == 0 or redis.pcall('HEXISTS', lock, 'limit') == 1 then
    return 0
  end
  return -1
end
