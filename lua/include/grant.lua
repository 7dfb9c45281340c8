-- @include shared-holds
-- @include tokens

-- Writes the owner into the lock, which must have room for it, and returns the first of its tokens.
-- A pushed grant stays marked until it is claimed.
local function grant(lock, fence, owner, limit, lease, now, tokens, label, is_pushed)
  local token = digits(reserve_tokens(fence, tokens, now))
  local since = digits(now.ms)
  if limit ~= 1 then
    local hold = { token = token, since = since, unclaimed = is_pushed and '1' or '0', label = label }
    write_hold(lock, owner, hold, lease, now, 'limit', limit)
    redis.call('HINCRBY', lock, 'held', permits_of(label))
    return token
  end
  if is_pushed then
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

-- When the lock was granted, ms. Where `since` is left out, the token came from the clock.
local function since_of(since, token)
  return since or (token and digits(math.floor(token / 1000)))
end
