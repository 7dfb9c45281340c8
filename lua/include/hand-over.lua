-- @include grant
-- @include queue

-- Pushes a grant to the waiter's channel. Whether somebody listened, as far as that can be told.
local function push(waiter, owner, token, others, now)
  local command = waiter.mode == 's' and 'SPUBLISH' or 'PUBLISH'
  local words = { 'granted', owner, token, digits(now.us), waiter.claim, waiter.tokens, others }
  local receivers = redis.pcall(command, waiter.channel, table.concat(words, ' '))
  return type(receivers) == 'number' and (receivers > 0 or waiter.mode == 'a')
end

-- Gives the lock, of which `held` hold shares, to the first waiter that can be reached, and to
-- those behind it for as long as there is room. A waiter that missed its heartbeats loses its
-- place; one that nobody listens for at this moment is passed over but keeps it. The grant is
-- pushed with a short claim lease. `asking` is the owner whose request this is: it needs no
-- message, so it is answered without being granted when its turn has come.
-- Answers `asking`, or the first that was granted, or nil; how many hold shares then; and
-- whether nobody is left in line whom others have to let go first.
local function hand_over(lock, queue, waiters, fence, now, asking, held)
  local index, first = 0, nil
  while true do
    local places = redis.call('ZRANGE', queue, index, index + 2)
    local owner = places[1]
    if not owner then
      return first, held, true
    end
    local waiter = waiter_of(waiters, owner)
    if not waiter or waiter.alive_until < now.ms then
      leave_queue(queue, waiters, owner)
    elseif not fits(held, waiter.limit) then
      return first, held, false
    elseif owner == asking then
      return owner, held, false
    else
      -- One that asked again after it was unheard finds the grant when it asks next, which is
      -- within two seconds.
      local is_back = waiter.heard == HEARD_AGAIN
      local lease = is_back and math.max(waiter.claim, 2000) or waiter.claim
      local token = grant(lock, fence, owner, waiter.limit, lease, now, waiter.tokens, waiter.label, true)
      local is_heard = push(waiter, owner, token, others_beside(queue, places, owner), now)
      if is_heard or is_back then
        leave_queue(queue, waiters, owner)
        if waiter.limit == 1 then
          return owner, 1, false
        end
        first = first or owner
        held = held + 1
      else
        let_go(lock, owner, now)
        waiter.heard = UNHEARD
        write_waiter(waiters, owner, waiter)
        index = index + 1
      end
    end
  end
end

-- Serves those who wait if the lock, which may be known to be free, has room for them.
local function serve(lock, queue, waiters, fence, now, is_free)
  local held = 0
  if not is_free and redis.call('EXISTS', lock) == 1 then
    local fields = redis.call('HMGET', lock, 'limit', 'due')
    if not fields[1] then
      return
    end
    held = shares_of(lock, fields[1], fields[2], now)
  end
  hand_over(lock, queue, waiters, fence, now, nil, held)
end
