-- take: for many locks at once, grants each that is free and has no waiters. This is the hot path of
-- uncontended exclusive locks, so it uses few commands. acquire handles the rest.
--
-- KEYS[2i-1] lock        hash: owner -> 1, token, since (left out if the token is from the clock), unclaimed, label
-- KEYS[2i]   queue       sorted set: owner by position
-- KEYS[#-1]  tombstones  sorted set: tombstones of owners (shared)
-- KEYS[#]    fence       last fencing token (shared)
-- ARGV[2i-1] owner   <client>:<number>
-- ARGV[2i]   lease   ms
-- ARGV[#]    tokens  how many fencing tokens to reserve for each (shared)
--
-- Reply: if all were granted by the clock, the first token of the first lock; those of the next locks
-- follow it. Else for each lock {first token, since ms} if granted, or its ttl in ms, or -3 if it is free
-- but has earlier waiters, or -2 where acquire must decide: the owner has a tombstone or holds it
-- already, it is held by a semaphore or by readers that may have expired, or its name has a value of
-- another type

local call = redis.call
local tombstones, fence, tokens = KEYS[#KEYS - 1], KEYS[#KEYS], ARGV[#ARGV]
local first, token, rest
local is_clock_behind = false
for i = 1, #ARGV - 1, 2 do
  local lock = KEYS[i]
  local is_free = not is_clock_behind and call('EXISTS', lock, KEYS[i + 1], tombstones) == 0
  if is_free and token then
    token = string.format('%.0f', token + tokens)
  elseif is_free then
    -- One step of the counter for all locks of the call, to the server's clock in us, which is usually
    -- ahead. One lock needs no numbers: formatting one costs as much as a command.
    local time = call('TIME')
    local micros = time[2]
    while #micros < 6 do
      micros = '0' .. micros
    end
    first = time[1] .. micros
    token = first
    local ahead, locks = token, (#ARGV - i) / 2
    if locks > 1 or tokens ~= '1' then
      ahead = string.format('%.0f', token + tokens * locks - 1)
    end
    local last = call('SET', fence, ahead, 'GET')
    if last and (#last ~= #token or last >= token) then
      call('SET', fence, last)
      is_clock_behind = true
    end
  end
  if is_free and not is_clock_behind then
    call('HSET', lock, ARGV[i], '1', 'token', token)
    call('PEXPIRE', lock, ARGV[i + 1])
  else
    rest = rest or {}
    rest[#rest + 1] = i
  end
end
if not rest then
  return first
end

-- @include grant
-- @include tombstones

local now = clock()
local since = digits(now.ms)
local replies = {}

local function take(lock, queue, owner, lease)
  local fields = redis.pcall('HMGET', lock, owner, 'limit', 'due')
  if fields.err or fields[1] then
    return -2
  end
  if fields[2] then
    -- Before `due`, none of the readers' leases has expired.
    local is_held = fields[2] == '0' and tonumber(fields[3]) > now.ms
    return is_held and call('PTTL', lock) or -2
  end
  local left = call('PTTL', lock)
  if left ~= -2 then
    return left
  end
  if has_tombstone(tombstones, owner) then
    return -2
  end
  if call('EXISTS', queue) == 1 then
    return -3
  end
  return { grant(lock, fence, owner, 1, lease, now, tonumber(tokens), ''), since }
end

for _, i in ipairs(rest) do
  replies[(i + 1) / 2] = take(KEYS[i], KEYS[i + 1], ARGV[i], ARGV[i + 1])
end
token = first
for i = 1, (#ARGV - 1) / 2 do
  if not replies[i] then
    replies[i] = { token, since }
    token = digits(token + tokens)
  end
end
return replies
