-- Writes the owner into the free lock and answers its fencing token (P1, P3).
-- The token starts from the clock, so it keeps growing after the data was lost,
-- and never repeats, so it keeps growing when the clock was set back.
local function grant(lock, fence, owner, lease, now)
  local last = tonumber(redis.call('GET', fence) or '0')
  local token = digits(math.max(last + 1, now))
  redis.call('SET', fence, token)
  redis.call('HSET', lock, owner, '1', 'token', token, 'since', digits(math.floor(now / 1000)))
  redis.call('PEXPIRE', lock, lease)
  return token
end
