-- @include clock
-- @include memory

-- A lock that several may hold at once: its hash has 'limit', how many (0 for any number,
-- which only keeps out a hold of all of it), 'due', the time in ms at which the first of their
-- leases may be over, and for each holder
-- owner -> '<end of its lease, ms> <token> <since, ms> <1 until a pushed grant is claimed, else 0> =<label>'.
local function decode_share(text)
  local ends, token, since, unclaimed, label = string.match(text, '^(%d+) (%d+) (%d+) (%d) =(.*)$')
  return { ends = tonumber(ends), token = token, since = since, unclaimed = unclaimed, label = label }
end

local function encode_share(share)
  return table.concat({ digits(share.ends), share.token, share.since, share.unclaimed, '=' .. share.label }, ' ')
end

-- Whether a field of the hash is a holder: no other has a colon in its name.
local function is_owner(field)
  return string.find(field, ':', 1, true) ~= nil
end

-- Whether callers with these limits may use the same key: all of it (1) goes with readers (0).
local function agree(one, other)
  return one == other or (one < 2 and other < 2)
end

-- Whether one more with that limit may hold a lock that so many hold.
local function fits(held, limit)
  return held == 0 or limit == 0 or (limit > 1 and held < limit)
end

-- Forgets the holders whose lease is over. Answers how many are left, and the new 'due'. Whoever
-- asks for a share needs memory for it, and is to be refused here if there is none.
local function prune(lock, now, is_asking)
  if is_asking then
    redis.call('HSET', lock, 'due', '0')
  else
    need_no_memory(lock)
  end
  local fields = redis.call('HGETALL', lock)
  local due, left = nil, 0
  for i = 1, #fields, 2 do
    if is_owner(fields[i]) then
      local ends = decode_share(fields[i + 1]).ends
      if ends <= now.ms then
        redis.call('HDEL', lock, fields[i])
      else
        left = left + 1
        due = math.min(due or ends, ends)
      end
    end
  end
  if left == 0 then
    redis.call('DEL', lock)
  else
    redis.call('HSET', lock, 'due', digits(due))
  end
  return left, due
end

-- How many hold the lock in shares, their limit, and when the first lease may be over, given
-- the fields of that name; 0 if nobody does.
local function shares_of(lock, limit, due, now, is_asking)
  if not limit then
    return 0
  end
  if tonumber(due) > now.ms then
    return redis.call('HLEN', lock) - 2, tonumber(limit), tonumber(due)
  end
  local held, next_due = prune(lock, now, is_asking)
  if held == 0 then
    return 0
  end
  return held, tonumber(limit), next_due
end

-- Writes a holder whose lease begins now, and sees to it that the lock lasts as long. `limit`
-- and `due` are the fields of that name; `due` is nil if the lock is not held in shares yet.
local function write_share(lock, owner, limit, due, lease, now, share)
  share.ends = now.ms + tonumber(lease)
  if due and tonumber(due) <= share.ends then
    redis.call('HSET', lock, owner, encode_share(share))
  else
    redis.call('HSET', lock, owner, encode_share(share), 'limit', limit, 'due', digits(share.ends))
  end
  if redis.call('PTTL', lock) < tonumber(lease) then
    redis.call('PEXPIRE', lock, lease)
  end
end

-- Has the lock end with the last of its shares, which may be sooner than it was to end.
local function fit_expiry(lock, now)
  local fields = redis.call('HGETALL', lock)
  local first, last = nil, now.ms + 1
  for i = 1, #fields, 2 do
    if is_owner(fields[i]) then
      local ends = decode_share(fields[i + 1]).ends
      first, last = math.min(first or ends, ends), math.max(last, ends)
    end
  end
  redis.call('HSET', lock, 'due', digits(first))
  redis.call('PEXPIRE', lock, last - now.ms)
end

-- Of a lock from which a share that would have lasted until `ends` was taken. Whether none is
-- left. Where the first of the others ends far sooner, the others may have been cut short.
local function is_emptied(lock, ends, now)
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

-- Gives a holder at least this lease again; exactly this one if it is to be exact, or the grant
-- was pushed and is claimed now. With 0 it leaves all as it is. False if its lease is over.
local function renew_share(lock, owner, share, lease, now, exactly)
  if share.ends <= now.ms then
    return false
  end
  if lease == 0 then
    return true
  end
  local left = share.ends - now.ms
  if exactly or share.unclaimed == '1' or left < lease then
    left = lease
  end
  need_no_memory(lock)
  local fields = redis.call('HMGET', lock, 'limit', 'due')
  share.unclaimed = '0'
  write_share(lock, owner, fields[1], fields[2], left, now, share)
  if exactly then
    fit_expiry(lock, now)
  end
  return true
end

-- Takes an owner out of the lock, whatever part of it it holds. Whether it held any, and
-- whether the lock is free now for certain.
local function let_go(lock, owner, now)
  local mine = redis.pcall('HGET', lock, owner)
  -- Something else at the lock's name is not held by us, and no matter of the other locks.
  if type(mine) ~= 'string' then
    return false, false
  end
  if mine == '1' then
    redis.call('DEL', lock)
    return true, true
  end
  redis.call('HDEL', lock, owner)
  local ends = decode_share(mine).ends
  return ends > now.ms, is_emptied(lock, ends, now)
end
