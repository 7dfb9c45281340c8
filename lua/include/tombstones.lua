-- @include clock

-- Owners that were cancelled in doubt: their late requests are rejected. A sorted set for each client,
-- with the time in ms at which each tombstone expires.
local function has_tombstone(tombstones, owner)
  return redis.call('ZSCORE', tombstones, owner) ~= false
end

-- Also removes up to two expired tombstones, so that they do not pile up.
local function leave_tombstone(tombstones, owner, lifetime, now)
  local oldest = redis.call('ZRANGE', tombstones, 0, 1, 'WITHSCORES')
  for i = 1, #oldest, 2 do
    if tonumber(oldest[i + 1]) <= now.ms then
      redis.call('ZREM', tombstones, oldest[i])
    end
  end
  redis.call('ZADD', tombstones, digits(now.ms + lifetime), owner)
  redis.call('PEXPIRE', tombstones, digits(lifetime))
end
