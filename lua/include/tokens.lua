-- @include clock

-- The first of `count` fencing tokens that nobody else gets for this lock. Tokens start from
-- the clock, so they keep growing after the data was lost; the counter is kept, so they keep
-- growing when the clock was set back. As a rule the clock is ahead of the counter, which is
-- therefore set to that before it is read.
local function reserve_tokens(fence, count, now)
  local last = tonumber(redis.call('SET', fence, digits(now.us + count - 1), 'GET')) or 0
  local first = math.max(last + 1, now.us)
  if first > now.us then
    redis.call('SET', fence, digits(first + count - 1))
  end
  return first
end
