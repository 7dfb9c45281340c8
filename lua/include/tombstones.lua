-- @include clock

-- Owners of a client that were given up in doubt: a late request of theirs is turned down. A
-- sorted set, each until a time in ms.
local function has_tombstone(tombstones, owner)
  return redis.call('ZSCORE', tombstones, owner) ~= false
end

-- Each new one clears away two that are over, so no more pile up than are needed.
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
