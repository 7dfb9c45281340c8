-- The first of `count` fencing tokens that nobody else gets (P3). Tokens start from
-- the clock, so they keep growing after the data was lost; the counter is kept, so
-- they keep growing when the clock was set back.
local function reserve_tokens(fence, count, now)
  local first = math.max(tonumber(redis.call('GET', fence) or '0') + 1, now)
  redis.call('SET', fence, digits(first + count - 1))
  return digits(first)
end

-- Writes the owner into the free lock and answers the first of its tokens (P1).
local function grant(lock, fence, owner, lease, now, tokens)
  local token = reserve_tokens(fence, tokens, now)
  redis.call('HSET', lock, owner, '1', 'token', token, 'since', digits(math.floor(now / 1000)))
  redis.call('PEXPIRE', lock, lease)
  return token
end

-- When the lock was granted, ms. A token that was taken from the clock tells it.
local function since_of(since, token)
  return since or (token and digits(math.floor(token / 1000)))
end
