-- @include clock

-- Reserves `count` fencing tokens and returns the first. Tokens start from the clock, so they keep
-- growing after a loss of data; a counter keeps the last one, so they keep growing when the clock is
-- set back. The clock is usually ahead of the counter, so the counter is set to it before it is read.
local function reserve_tokens(fence, count, now)
  local last = tonumber(redis.call('SET', fence, digits(now.us + count - 1), 'GET')) or 0
  local first = math.max(last + 1, now.us)
  if first > now.us then
    redis.call('SET', fence, digits(first + count - 1))
  end
  return first
end
