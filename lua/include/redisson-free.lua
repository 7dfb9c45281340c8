-- @include redisson

-- Deletes the lock and wakes the waiters as Redisson does: all that listen on the channel, and the first
-- one of an RFairLock, which has a channel of its own.
local function free(lock, channel, queue, timeouts, mode)
  local publish = mode == 's' and 'SPUBLISH' or 'PUBLISH'
  redis.call('DEL', lock)
  redis.call(publish, channel, '0')
  if redis.call('EXISTS', queue) == 1 then
    local waiter = first_fair_waiter(queue, timeouts, clock())
    if waiter then
      redis.call(publish, channel .. ':' .. waiter, '0')
    end
  end
end
