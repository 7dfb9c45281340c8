-- take: for many locks at once, grants each that is free and has nothing to do
-- with anybody else. The path of every lock that nobody contends for, so it
-- comes with as few commands as possible; acquire sees to the rest.
--
-- KEYS[3i-2] lock   hash: owner -> 1, token, since (left out where the token tells it), unclaimed, label
-- KEYS[3i-1] queue  sorted set: owner by ticket
-- KEYS[3i]   gone   tombstone of this owner
-- KEYS[#]    fence  last fencing token (shared)
-- ARGV[3i-2] owner   <client>:<number>
-- ARGV[3i-1] lease   ms
-- ARGV[3i]   tokens  how many fencing tokens to reserve for the owner
--
-- Reply: for each lock, if granted, its first token, or {first token, since ms} where the
-- token does not tell the time; else its ttl in ms, which is -3 where it is free but others
-- came first, and -2 where acquire has to see: it has a tombstone, this owner has it already,
-- it is held in shares that may be over or of which there are several, or something else is at its name

local call = redis.call
local fence = KEYS[#KEYS]
local replies = {}
local now, first
for i = 3, #ARGV, 3 do
  local lock, owner = KEYS[i - 2], ARGV[i - 2]
  if call('EXISTS', lock, KEYS[i - 1], KEYS[i]) == 0 then
    if not first then
      -- One step of the counter for all that this call may grant (P3). As a rule the clock is
      -- ahead of it, so it is set to that before it is read.
      local time, wanted = call('TIME'), -1
      now = time[1] * 1000000 + time[2]
      for j = i, #ARGV, 3 do
        wanted = wanted + ARGV[j]
      end
      first = now
      local last = tonumber(call('SET', fence, string.format('%.0f', now + wanted), 'GET')) or 0
      if last >= now then
        first = last + 1
        call('SET', fence, string.format('%.0f', first + wanted))
      end
    end
    local token = string.format('%.0f', first)
    call('HSET', lock, owner, '1', 'token', token)
    call('PEXPIRE', lock, ARGV[i - 1])
    replies[i / 3] = token
    if first > now + 1000 then
      -- The counter is ahead of the clock, which was set back.
      local since = string.format('%.0f', now / 1000)
      call('HSET', lock, 'since', since)
      replies[i / 3] = { token, since }
    end
    first = first + ARGV[i]
  else
    local facts = redis.pcall('HMGET', lock, owner, 'limit', 'due')
    local is_held = not (facts.err or facts[1] or facts[2])
    if facts[2] == '0' and not facts[1] then
      -- By readers. Before the first of their leases may be over, none is.
      local time = call('TIME')
      is_held = tonumber(facts[3]) > time[1] * 1000 + time[2] / 1000
    end
    local left = is_held and call('PTTL', lock) or -2
    if left == -2 and call('EXISTS', lock, KEYS[i]) == 0 then
      left = -3
    end
    replies[i / 3] = left
  end
end
return replies
