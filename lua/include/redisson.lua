-- @include clock

-- A value of another type than a hash at the name of a lock, such as the string of an RSemaphore: the
-- reply names the type.
local function other_type(lock)
  return 'type ' .. redis.call('TYPE', lock).ok
end

-- The first waiter of an RFairLock that has not timed out, or nil. Redisson keeps the waiters in a list,
-- and their timeouts, ms since the epoch, in a sorted set. A waiter without a timeout never times out.
local function first_fair_waiter(queue, timeouts, now)
  for _, waiter in ipairs(redis.call('LRANGE', queue, 0, -1)) do
    local ends = redis.call('ZSCORE', timeouts, waiter)
    if not ends or tonumber(ends) > now.ms then
      return waiter
    end
  end
  return nil
end

-- 1 if anyone but this client listens on the channel, or waits in the queue of an RFairLock, else 0. Where
-- messages come from any server of a cluster (mode a), the listeners can't be counted.
local function others_wait(mode, channel, is_listening, queue)
  if mode == 'a' or redis.call('EXISTS', queue) == 1 then
    return 1
  end
  local count = redis.call('PUBSUB', mode == 's' and 'SHARDNUMSUB' or 'NUMSUB', channel)
  return count[2] > tonumber(is_listening) and 1 or 0
end

-- Makes a hold last for at least `lease` ms. A claim of a pushed grant, or `exactly`, sets the lease exactly.
-- Only the first claim: a copy of it that arrives late must not shorten a lease that was extended since.
local function keep(lock, lease, is_claim, exactly)
  local ms = math.abs(lease)
  local claimed = is_claim and redis.call('HDEL', lock, 'unclaimed') == 1
  if exactly or claimed or redis.call('PTTL', lock) < ms then
    redis.call('PEXPIRE', lock, ms)
  end
end
