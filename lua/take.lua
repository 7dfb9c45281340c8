-- take: for many locks at once, grants each that is free and has nothing to do
-- with anybody else. The path of every lock that nobody contends for, so it
-- comes with as few commands as possible; acquire sees to the rest.
--
-- KEYS[2i-1] lock        hash: owner -> 1, token, since (left out where the token tells it), unclaimed, label
-- KEYS[2i]   queue       sorted set: owner by ticket
-- KEYS[#-1]  tombstones  sorted set: tombstones of owners (shared)
-- KEYS[#]    fence       last fencing token (shared)
-- ARGV[2i-1] owner   <client>:<number>
-- ARGV[2i]   lease   ms
-- ARGV[#]    tokens  how many fencing tokens to reserve for each (shared)
--
-- Reply: the first token of the first lock if all were granted and tokens tell the time: those
-- of each next lock follow. Else for each lock {first token, since ms}, if granted, or its ttl
-- in ms, which is -3 where it is free but others came first, and -2 where acquire has to see:
-- it has a tombstone, this owner has it already, it is held in shares that may be over or of
-- which there are several, or something else is at its name

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
    -- One step of the counter for all that this call may grant, to the server's clock in us,
    -- which as a rule is ahead of it. One lock does without numbers: to write one down costs as
    -- much as a command.
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
    -- Before the first of the readers' leases may be over, none is.
    local is_held = fields[2] == '0' and tonumber(fields[3]) > now.ms
    return is_held and call('PTTL', lock) or -2
  end
  if call('EXISTS', lock) == 1 then
    return call('PTTL', lock)
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
