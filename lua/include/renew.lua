-- @include shared-holds

-- Renews a hold, exclusive or shared, for at least `lease` ms. A negative lease is set exactly, as is
-- the lease of a pushed grant at its first claim; otherwise a renewal never shortens a lease and
-- never creates a hold, so that a late copy of the request does no harm. With 0 the lease stays as it
-- is.
-- Returns 1 (renewed), 0 (gone) or -1 (held by another owner).
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
  if type(mine) == 'string' then
    return renew_hold(lock, owner, decode_hold(mine), lease, now, exactly) and 1 or 0
  end
  -- pcall above: a value of another type at the lock's name must not fail the other locks.
  if redis.call('EXISTS', lock) == 0 or redis.pcall('HEXISTS', lock, 'limit') == 1 then
    return 0
  end
  return -1
end
