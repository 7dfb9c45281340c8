-- Gives the free lock to the first waiter that can be reached (P11, P12, P15, P16).
-- A waiter that missed its heartbeats loses its place; one that nobody listens
-- for at this moment is passed over but keeps it. The grant is pushed with a
-- short claim lease. `asking` is the owner whose request this is: it needs no
-- message, so it is answered without being granted.
-- Answers the chosen owner, or nil.
local function hand_over(lock, queue, waiters, fence, now, asking)
  local index = 0
  while true do
    local places = redis.call('ZRANGE', queue, index, index + 2)
    local owner = places[1]
    if not owner then
      return nil
    end
    local alive_until, claim, callers, missed, tokens, way, channel = waiter_facts(waiters, owner)
    if alive_until < now / 1000 then
      leave_queue(queue, waiters, owner)
    elseif owner == asking then
      return owner
    else
      local token = grant(lock, fence, owner, claim, now, tokens, true)
      local others = others_among(places, client_of(owner))
      local message = table.concat({ 'granted', owner, token, digits(now), claim, tokens, others }, ' ')
      local heard = redis.pcall(way == 's' and 'SPUBLISH' or 'PUBLISH', channel, message)
      local reached = type(heard) == 'number' and (heard > 0 or way == 'a')
      if reached or missed == 2 then
        -- One that asked again after it was missed is alive: it finds the grant when it asks
        -- next (B13), which is within two seconds.
        if not reached and claim < 2000 then
          redis.call('PEXPIRE', lock, 2000)
        end
        leave_queue(queue, waiters, owner)
        return owner
      end
      redis.call('DEL', lock)
      local facts = { digits(alive_until), claim, callers, 1, tokens, way, channel }
      redis.call('HSET', waiters, owner, table.concat(facts, ' '))
      index = index + 1
    end
  end
end
