-- @include clock

-- Reserves `count` fencing tokens and returns the first. Redisson counts them from 1. A client that grants
-- locks by itself while Redis is unreachable counts those from its clock, and `floor` is its last one: with
-- such clients the counter goes on from there, and from the clock. '' for other clients.
local function reserve_tokens(counter, count, floor)
  local first = redis.call('INCRBY', counter, count) - count + 1
  local least = floor ~= '' and math.max(tonumber(floor) + 1, clock().us) or 0
  if first < least then
    redis.call('INCRBY', counter, digits(least - first))
    return least
  end
  return first
end
