-- A waiter's place: its ticket in the sorted set, and in the hash
-- '<alive until, ms> <claim lease, ms> <callers waiting in that process>'.
local function leave_queue(queue, waiters, owner)
  redis.call('ZREM', queue, owner)
  redis.call('HDEL', waiters, owner)
end

local function waiter_facts(waiters, owner)
  local facts = redis.call('HGET', waiters, owner)
  if not facts then
    return 0, 0, 0
  end
  local alive_until, claim, callers = string.match(facts, '^(%d+) (%d+) (%d+)$')
  return tonumber(alive_until), tonumber(claim), tonumber(callers)
end
