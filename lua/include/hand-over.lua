-- Gives the lock, of which `held` with the limit `held_limit` hold shares, to the first
-- waiter that can be reached, and to those behind it for as long as there is room (P11, P12,
-- P15, P16). A waiter that missed its heartbeats loses its place; one that nobody listens
-- for at this moment is passed over but keeps it. The grant is pushed with a short claim
-- lease. `asking` is the owner whose request this is: it needs no message, so it is
-- answered without being granted when its turn has come.
-- Answers `asking`, or the first that was granted, or nil; and how many hold shares then, and
-- whether nobody is left in line whom others have to let go first.
local function hand_over(lock, queue, waiters, fence, now, asking, held)
  local index, first = 0, nil
  while true do
    local places = redis.call('ZRANGE', queue, index, index + 2)
    local owner = places[1]
    if not owner then
      return first, held, true
    end
    local alive_until, claim, callers, missed, tokens, way, limit, label, channel = waiter_facts(waiters, owner)
    if alive_until < now / 1000 then
      leave_queue(queue, waiters, owner)
    elseif not fits(held, limit) then
      return first, held, false
    elseif owner == asking then
      return owner, held, false
    else
      -- One that asked again after it was missed is alive: it finds the grant when it asks
      -- next (B13), which is within two seconds.
      local lease = missed == 2 and math.max(claim, 2000) or claim
      local token = grant(lock, fence, owner, limit, lease, now, tokens, label, true)
      local others = others_beside(queue, places, owner)
      local message = table.concat({ 'granted', owner, token, digits(now), claim, tokens, others }, ' ')
      local heard = redis.pcall(way == 's' and 'SPUBLISH' or 'PUBLISH', channel, message)
      local reached = type(heard) == 'number' and (heard > 0 or way == 'a')
      if reached or missed == 2 then
        leave_queue(queue, waiters, owner)
        if limit == 1 then
          return owner, 1, false
        end
        first = first or owner
        held = held + 1
      else
        let_go(lock, owner, now)
        local facts = { digits(alive_until), claim, callers, 1, tokens, way, limit, '=' .. label, channel }
        redis.call('HSET', waiters, owner, table.concat(facts, ' '))
        index = index + 1
      end
    end
  end
end

-- Serves those who wait if the lock, which may be known to be free, has room for them.
-- Answers the first who got it, or nil.
local function serve(lock, queue, waiters, fence, now, is_free)
  local held = 0
  if not is_free and redis.call('EXISTS', lock) == 1 then
    local facts = redis.call('HMGET', lock, 'limit', 'due')
    if not facts[1] then
      return nil
    end
    held = shares_of(lock, facts[1], facts[2], now)
  end
  return (hand_over(lock, queue, waiters, fence, now, nil, held))
end
