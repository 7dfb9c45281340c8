-- @include clock

-- Owners of a client that were given up in doubt: a late request of theirs is turned down. A
-- sorted set, each until a time in ms.
local function has_tombstone(gone, owner)
  return redis.call('ZSCORE', gone, owner) ~= false
end

-- Each new one clears away two that are over, so no more pile up than are needed.
local function leave_tombstone(gone, owner, lifetime, now)
  local oldest = redis.call('ZRANGE', gone, 0, 1, 'WITHSCORES')
  for i = 1, #oldest, 2 do
    if tonumber(oldest[i + 1]) <= now.ms then
      redis.call('ZREM', gone, oldest[i])
    end
  end
  redis.call('ZADD', gone, digits(now.ms + lifetime), owner)
  redis.call('PEXPIRE', gone, digits(lifetime))
end
