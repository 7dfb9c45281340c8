-- @include clock
-- @include memory

-- A shared lock is a hash of 'limit', the number of permits (0 for readers: any number of them, but no
-- exclusive hold beside them), 'held', the permits of all holders, 'due', a time in ms before which no lease
-- expires, and for each holder
-- owner -> '<end of its lease, ms> <token> <since, ms> <1 until a pushed grant is claimed, else 0> =<label>'.
-- The label of a holder with several permits ends with '/<permits>'.
local function decode_hold(text)
  local ends, token, since, unclaimed, label = string.match(text, '^(%d+) (%d+) (%d+) (%d) =(.*)$')
  return { ends = tonumber(ends), token = token, since = since, unclaimed = unclaimed, label = label }
end

local function encode_hold(hold)
  return table.concat({ digits(hold.ends), hold.token, hold.since, hold.unclaimed, '=' .. hold.label }, ' ')
end

local function permits_of(label)
  local slash = string.find(label, '/', 1, true)
  return slash and tonumber(string.sub(label, slash + 1)) or 1
end

-- Whether a field of the hash is a holder: only owners have a colon.
local function is_owner(field)
  return string.find(field, ':', 1, true) ~= nil
end

-- Whether callers with these limits may use the same key: exclusive (1) goes with readers (0).
local function limits_agree(one, other)
  return one == other or (one < 2 and other < 2)
end

-- Whether one more holder with that limit and so many permits fits where `held` permits are held.
local function fits(held, limit, permits)
  return held == 0 or limit == 0 or (limit > 1 and held + permits <= limit)
end

-- Removes the holders whose lease has expired, and sets 'held', 'due' and the expiry of the lock by the
-- others. Returns 'held' and 'due'. A request for a shared hold (`is_asking`) needs memory, so it is
-- rejected here if the server has none.
local function prune(lock, now, is_asking)
  if is_asking then
    redis.call('HSET', lock, 'due', '0')
  else
    begin_without_memory(lock)
  end
  local fields = redis.call('HGETALL', lock)
  local held, first, last = 0, math.huge, 0
  for i = 1, #fields, 2 do
    if is_owner(fields[i]) then
      local hold = decode_hold(fields[i + 1])
      if hold.ends <= now.ms then
        redis.call('HDEL', lock, fields[i])
      else
        held = held + permits_of(hold.label)
        first, last = math.min(first, hold.ends), math.max(last, hold.ends)
      end
    end
  end
  if held == 0 then
    redis.call('DEL', lock)
  else
    redis.call('HSET', lock, 'held', held, 'due', digits(first))
    redis.call('PEXPIRE', lock, last - now.ms)
  end
  return held, first
end

-- The permits of all shared holders, their limit, and 'due'. 0 if the lock is free or exclusive.
local function permits_held(lock, now, is_asking)
  local limit, held, due = unpack(redis.call('HMGET', lock, 'limit', 'held', 'due'))
  if not limit then
    return 0
  end
  if tonumber(due) <= now.ms then
    held, due = prune(lock, now, is_asking)
  end
  if held == 0 then
    return 0
  end
  return tonumber(held), tonumber(limit), tonumber(due)
end

-- ms until there may be room for a request: when the first lease ends or, for several permits, enough of
-- them.
local function left_for(lock, limit, permits, due, now)
  if permits == 1 then
    return math.max(0, due - now.ms)
  end
  local fields = redis.call('HGETALL', lock)
  local leases, free = {}, limit
  for i = 1, #fields, 2 do
    if is_owner(fields[i]) then
      local hold = decode_hold(fields[i + 1])
      leases[#leases + 1] = { ends = hold.ends, permits = permits_of(hold.label) }
      free = free - leases[#leases].permits
    end
  end
  table.sort(leases, function(one, other)
    return one.ends < other.ends
  end)
  for _, lease in ipairs(leases) do
    free = free + lease.permits
    if free >= permits then
      return math.max(0, lease.ends - now.ms)
    end
  end
  return 0
end

-- Writes a holder whose lease begins now, and further fields; extends the expiry of the lock if necessary.
local function write_hold(lock, owner, hold, lease, now, ...)
  hold.ends = now.ms + tonumber(lease)
  local due = tonumber(redis.call('HGET', lock, 'due')) or hold.ends
  redis.call('HSET', lock, owner, encode_hold(hold), 'due', digits(math.min(due, hold.ends)), ...)
  if redis.call('PTTL', lock) < tonumber(lease) then
    redis.call('PEXPIRE', lock, lease)
  end
end

-- Renews a shared holder for at least `lease` ms; exactly so if `exactly`, or at the first claim of a
-- pushed grant. With 0 the lease stays as it is. False if the lease has expired.
local function renew_hold(lock, owner, hold, lease, now, exactly)
  if hold.ends <= now.ms then
    return false
  end
  if lease == 0 then
    return true
  end
  local left = hold.ends - now.ms
  if exactly or hold.unclaimed == '1' or left < lease then
    left = lease
  end
  begin_without_memory(lock)
  hold.unclaimed = '0'
  write_hold(lock, owner, hold, left, now)
  if exactly then
    prune(lock, now)
  end
  return true
end

-- Removes an owner from the lock. Returns whether it held it.
local function remove_holder(lock, owner, now)
  local mine = redis.pcall('HGET', lock, owner)
  -- pcall: a value of another type at the lock's name is not a hold, and must not fail the other locks.
  if type(mine) ~= 'string' then
    return false
  end
  if mine == '1' then
    redis.call('DEL', lock)
    return true
  end
  redis.call('HDEL', lock, owner)
  local hold = decode_hold(mine)
  if redis.call('HINCRBY', lock, 'held', -permits_of(hold.label)) == 0 then
    redis.call('DEL', lock)
  elseif redis.call('HGET', lock, 'due') - now.ms < (hold.ends - now.ms) / 2 then
    -- Another lease may end far sooner than the lock expires.
    prune(lock, now)
  end
  return hold.ends > now.ms
end
