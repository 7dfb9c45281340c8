-- A waiter's place: its ticket in the sorted set, and in the hash
-- '<alive until, ms> <claim lease, ms> <callers waiting in that process> <0, or 1 when
-- it was passed over as nobody listened, or 2 when it has asked again since>'.
local function leave_queue(queue, waiters, owner)
  redis.call('ZREM', queue, owner)
  redis.call('HDEL', waiters, owner)
end

local function waiter_facts(waiters, owner)
  local facts = redis.call('HGET', waiters, owner)
  if not facts then
    return 0, 0, 0, 0
  end
  local alive_until, claim, callers, missed = string.match(facts, '^(%d+) (%d+) (%d+) (%d)$')
  return tonumber(alive_until), tonumber(claim), tonumber(callers), tonumber(missed)
end
