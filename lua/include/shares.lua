-- A lock that several may hold at once: its hash has 'limit', how many (0 for any number,
-- who only keep out a hold of all of it), 'due', the time in ms at which the first of their
-- leases may be over, and for each holder
-- owner -> '<end of its lease, ms> <token> <since, ms> <1 until a pushed grant is claimed, else 0> =<label>'.
local function share_facts(text)
  local ends, token, since, unclaimed, label = string.match(text, '^(%d+) (%d+) (%d+) (%d) =(.*)$')
  return tonumber(ends), token, since, unclaimed, label
end

-- Whether callers with these limits may use the same key: all of it (1) goes with readers (0).
local function agree(one, other)
  return one == other or (one < 2 and other < 2)
end

-- Whether one more with that limit may hold a lock that so many hold.
local function fits(held, limit)
  return held == 0 or limit == 0 or (limit > 1 and held < limit)
end

-- A server that is out of memory refuses a script whose first write needs some (F6). What only
-- keeps or ends a hold is to get through: it begins with a write that needs none and does nothing.
local function need_no_memory(lock)
  redis.pcall('HDEL', lock, '')
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
    if string.find(fields[i], ':', 1, true) then
      local ends = share_facts(fields[i + 1])
      if ends * 1000 <= now then
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
  if tonumber(due) * 1000 > now then
    return redis.call('HLEN', lock) - 2, tonumber(limit), tonumber(due)
  end
  local held, next_due = prune(lock, now, is_asking)
  if held == 0 then
    return 0
  end
  return held, tonumber(limit), next_due
end

-- Writes a holder's facts, and sees to it that the lock lasts as long as its lease. `limit`
-- and `due` are the fields of that name; nil if the lock is not held in shares yet.
local function write_share(lock, owner, limit, due, now, lease, token, since, unclaimed, label)
  local ends = digits(math.floor(now / 1000) + tonumber(lease))
  local facts = table.concat({ ends, token, since, unclaimed, '=' .. label }, ' ')
  if due and tonumber(due) <= tonumber(ends) then
    redis.call('HSET', lock, owner, facts)
  else
    redis.call('HSET', lock, owner, facts, 'limit', limit, 'due', ends)
  end
  if redis.call('PTTL', lock) < tonumber(lease) then
    redis.call('PEXPIRE', lock, lease)
  end
end

-- Gives a holder whose facts are `mine` at least this lease again; exactly this one if it
-- is to be exact, or the grant was pushed and is claimed now. With 0 it leaves all as it is.
-- False if its lease is over.
local function renew_share(lock, owner, mine, lease, now, exactly)
  local ends, token, since, unclaimed, label = share_facts(mine)
  if ends * 1000 <= now then
    return false
  end
  if tonumber(lease) == 0 then
    return true
  end
  local left = ends - math.floor(now / 1000)
  if exactly or unclaimed == '1' or left < tonumber(lease) then
    left = lease
  end
  need_no_memory(lock)
  local shares = redis.call('HMGET', lock, 'limit', 'due')
  write_share(lock, owner, shares[1], shares[2], now, left, token, since, '0', label)
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
  local is_last = redis.call('HLEN', lock) == 2
  if is_last then
    redis.call('DEL', lock)
  end
  return share_facts(mine) * 1000 > now, is_last
end
