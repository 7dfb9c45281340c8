-- @include grant
-- @include queue

-- Pushes a grant to the waiter's channel. Returns whether anyone received it, as far as Redis knows.
local function push(waiter, owner, token, others, now)
  local command = waiter.mode == 's' and 'SPUBLISH' or 'PUBLISH'
  local fields = { 'granted', owner, token, digits(now.us), waiter.claim, waiter.tokens, others }
  local receivers = redis.pcall(command, waiter.channel, table.concat(fields, ' '))
  return type(receivers) == 'number' and (receivers > 0 or waiter.mode == 'a')
end

-- Grants the lock, of which shared holders have `held` permits, to the first reachable waiter, and to the
-- next ones while there is room: one that does not fit keeps those behind it waiting. A waiter without
-- heartbeats leaves the queue. A waiter whose channel has no subscriber at the moment is skipped but keeps
-- its position. Grants are pushed with the short claim lease. The owner `asking` made this request and
-- needs no message: when its turn comes, this returns without granting, and the caller grants.
-- Returns `asking`, or the first owner granted, or nil; the permits of all shared holders now; and whether
-- the end of the queue was reached, so that no waiter comes before a request outside the queue.
local function hand_over(lock, queue, waiters, fence, now, asking, held)
  local index, first = 0, nil
  while true do
    local owner = redis.call('ZRANGE', queue, index, index)[1]
    if not owner then
      return first, held, true
    end
    local waiter = waiter_of(waiters, owner)
    local permits = waiter and permits_of(waiter.label)
    if not waiter or waiter.alive_until < now.ms then
      leave_queue(queue, waiters, owner)
    elseif not fits(held, waiter.limit, permits) then
      return first, held, false
    elseif owner == asking then
      return owner, held, false
    else
      -- A waiter that polled after nobody received its grant will find this one by its next poll,
      -- within two seconds.
      local is_back = waiter.heard == HEARD_AGAIN
      local lease = is_back and math.max(waiter.claim, 2000) or waiter.claim
      local token = grant(lock, fence, owner, waiter.limit, lease, now, waiter.tokens, waiter.label, true)
      local is_heard = push(waiter, owner, token, others_wait(queue, owner), now)
      if is_heard or is_back then
        leave_queue(queue, waiters, owner)
        if waiter.limit == 1 then
          return owner, 1, false
        end
        first = first or owner
        held = held + permits
      else
        remove_holder(lock, owner, now)
        waiter.heard = UNHEARD
        write_waiter(waiters, owner, waiter)
        index = index + 1
      end
    end
  end
end

-- Grants the lock to its waiters, if there are any and it has room.
local function serve(lock, queue, waiters, fence, now)
  if redis.call('EXISTS', queue) == 0 then
    return
  end
  local held = permits_held(lock, now)
  if held > 0 or redis.call('EXISTS', lock) == 0 then
    hand_over(lock, queue, waiters, fence, now, nil, held)
  end
end
