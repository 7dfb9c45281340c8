-- The first of `count` fencing tokens that nobody else gets (P3). Tokens start from
-- the clock, so they keep growing after the data was lost; the counter is kept, so
-- they keep growing when the clock was set back. As a rule the clock is ahead of the
-- counter, which is therefore set to that before it is read.
local function reserve_tokens(fence, count, now)
  local last = tonumber(redis.call('SET', fence, digits(now + count - 1), 'GET')) or 0
  if last < now then
    return digits(now)
  end
  redis.call('SET', fence, digits(last + count))
  return digits(last + 1)
end

-- Writes the owner into the lock, where there is room for it, and answers the first of its
-- tokens (P1). A pushed grant is marked until it is claimed.
local function grant(lock, fence, owner, limit, lease, now, tokens, label, pushed)
  local token = reserve_tokens(fence, tokens, now)
  local since = digits(math.floor(now / 1000))
  if limit ~= 1 then
    local due = redis.call('HGET', lock, 'due')
    write_share(lock, owner, limit, due, now, lease, token, since, pushed and '1' or '0', label)
    return token
  end
  if pushed then
    redis.call('HSET', lock, owner, '1', 'token', token, 'since', since, 'unclaimed', '1')
  else
    redis.call('HSET', lock, owner, '1', 'token', token, 'since', since)
  end
  if label ~= '' then
    redis.call('HSET', lock, 'label', label)
  end
  redis.call('PEXPIRE', lock, lease)
  return token
end

-- When the lock was granted, ms. A token that was taken from the clock tells it.
local function since_of(since, token)
  return since or (token and digits(math.floor(token / 1000)))
end
