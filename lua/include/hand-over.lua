-- @include grant
-- @include queue

-- Longer than the time between two polls of a waiter, ms.
local UNTIL_POLL = 2000

-- Whether a grant that is pushed to the waiter's channel is received, as far as Redis knows; nil if the
-- user may not ask. Asked before the grant: what is published also reaches replicas and their subscribers,
-- so a grant is never revoked once it has been.
local function is_reachable(waiter)
  if waiter.mode == 'a' then
    return true
  end
  local count = redis.pcall('PUBSUB', waiter.mode == 's' and 'SHARDNUMSUB' or 'NUMSUB', waiter.channel)[2]
  return count and count > 0
end

-- Whether the message was sent: nothing tells before whether the user may.
local function push(waiter, owner, token, others, now)
  local command = waiter.mode == 's' and 'SPUBLISH' or 'PUBLISH'
  local fields = { 'granted', owner, token, digits(now.us), waiter.claim, waiter.tokens, others }
  local reply = redis.pcall(command, waiter.channel, table.concat(fields, ' '))
  return type(reply) ~= 'table'
end

-- Gives a waiter that gets no message the time until its next poll to find its grant.
local function wait_for_poll(lock, owner, now)
  local hold = redis.call('HGET', lock, owner)
  if hold == '1' then
    redis.call('PEXPIRE', lock, UNTIL_POLL)
  else
    write_hold(lock, owner, decode_hold(hold), UNTIL_POLL, now)
  end
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
      local is_back, reachable = waiter.heard == HEARD_AGAIN, is_reachable(waiter)
      if is_back or reachable ~= false then
        -- A waiter that gets no message finds its grant by its next poll.
        local lease = reachable and not is_back and waiter.claim or math.max(waiter.claim, UNTIL_POLL)
        local token = grant(lock, fence, owner, waiter.limit, lease, now, waiter.tokens, waiter.label, true)
        if not push(waiter, owner, token, others_wait(queue, owner), now) and lease < UNTIL_POLL then
          wait_for_poll(lock, owner, now)
        end
        leave_queue(queue, waiters, owner)
        if waiter.limit == 1 then
          return owner, 1, false
        end
        first = first or owner
        held = held + permits
      else
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
