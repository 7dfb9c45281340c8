-- @include clock
-- @include memory

-- A shared lock is a hash of 'limit', the number of permits (0 for readers: any number of them, but no
-- exclusive hold beside them), 'due', a time in ms before which no lease expires, and for each holder
-- owner -> '<end of its lease, ms> <token> <since, ms> <1 until a pushed grant is claimed, else 0> =<label>'.
-- The label of a holder with several permits ends with '/<permits>'; then the hash also has 'extra', by how
-- much the permits of all holders exceed their number.
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

-- A holder with that label was added, or with -1 removed.
local function count_extra(lock, label, sign)
  local extra = permits_of(label) - 1
  if extra > 0 and redis.call('HINCRBY', lock, 'extra', sign * extra) == 0 then
    redis.call('HDEL', lock, 'extra')
  end
end

-- Removes the holders whose lease has expired. Returns how many permits are left, and the new 'due'. A
-- request for a shared hold (`is_asking`) needs memory, so it is rejected here if the server has none.
local function prune(lock, now, is_asking)
  if is_asking then
    redis.call('HSET', lock, 'due', '0')
  else
    begin_without_memory(lock)
  end
  local fields = redis.call('HGETALL', lock)
  local due, left, extra, had_extra = nil, 0, 0, false
  for i = 1, #fields, 2 do
    if is_owner(fields[i]) then
      local hold = decode_hold(fields[i + 1])
      if hold.ends <= now.ms then
        redis.call('HDEL', lock, fields[i])
      else
        local permits = permits_of(hold.label)
        left, extra = left + permits, extra + permits - 1
        due = math.min(due or hold.ends, hold.ends)
      end
    elseif fields[i] == 'extra' then
      had_extra = true
    end
  end
  if left == 0 then
    redis.call('DEL', lock)
  else
    redis.call('HSET', lock, 'due', digits(due))
    if extra > 0 then
      redis.call('HSET', lock, 'extra', extra)
    elseif had_extra then
      redis.call('HDEL', lock, 'extra')
    end
  end
  return left, due
end

-- The permits of all shared holders, their limit, and 'due', from the fields `limit`, `due` and `extra`.
-- 0 if the lock is free or exclusive.
local function permits_held(lock, limit, due, extra, now, is_asking)
  if not limit then
    return 0
  end
  if tonumber(due) > now.ms then
    local held = redis.call('HLEN', lock) - 2
    return extra and held - 1 + tonumber(extra) or held, tonumber(limit), tonumber(due)
  end
  local held, next_due = prune(lock, now, is_asking)
  if held == 0 then
    return 0
  end
  return held, tonumber(limit), next_due
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

-- Writes a holder whose lease begins now, and extends the expiry of the lock if necessary. `limit` and
-- `due` are the fields of the hash; `due` is nil for the first holder.
local function write_hold(lock, owner, limit, due, lease, now, hold)
  hold.ends = now.ms + tonumber(lease)
  if due and tonumber(due) <= hold.ends then
    redis.call('HSET', lock, owner, encode_hold(hold))
  else
    redis.call('HSET', lock, owner, encode_hold(hold), 'limit', limit, 'due', digits(hold.ends))
  end
  if redis.call('PTTL', lock) < tonumber(lease) then
    redis.call('PEXPIRE', lock, lease)
  end
end

-- Sets the expiry of the lock to the last lease, which may end sooner than before.
local function fit_expiry(lock, now)
  local fields = redis.call('HGETALL', lock)
  local first, last = nil, now.ms + 1
  for i = 1, #fields, 2 do
    if is_owner(fields[i]) then
      local ends = decode_hold(fields[i + 1]).ends
      first, last = math.min(first or ends, ends), math.max(last, ends)
    end
  end
  redis.call('HSET', lock, 'due', digits(first))
  redis.call('PEXPIRE', lock, last - now.ms)
end

-- After a holder whose lease ended at `ends` was removed: deletes a lock without holders, and returns
-- whether it did. If another lease may end far sooner, the expiry of the lock may be too late.
local function delete_if_empty(lock, ends, now)
  if redis.call('HLEN', lock) == 2 then
    redis.call('DEL', lock)
    return true
  end
  local due = tonumber(redis.call('HGET', lock, 'due'))
  if due - now.ms < (ends - now.ms) / 2 then
    fit_expiry(lock, now)
  end
  return false
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
  local fields = redis.call('HMGET', lock, 'limit', 'due')
  hold.unclaimed = '0'
  write_hold(lock, owner, fields[1], fields[2], left, now, hold)
  if exactly then
    fit_expiry(lock, now)
  end
  return true
end

-- Removes an owner from the lock. Returns whether it held it, and whether the lock is known to be free
-- now.
local function remove_holder(lock, owner, now)
  local mine = redis.pcall('HGET', lock, owner)
  -- pcall: a value of another type at the lock's name is not a hold, and must not fail the other locks.
  if type(mine) ~= 'string' then
    return false, false
  end
  if mine == '1' then
    redis.call('DEL', lock)
    return true, true
  end
  redis.call('HDEL', lock, owner)
  local hold = decode_hold(mine)
  count_extra(lock, hold.label, -1)
  return hold.ends > now.ms, delete_if_empty(lock, hold.ends, now)
end
