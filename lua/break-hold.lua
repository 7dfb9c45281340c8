-- break-hold: breaks the one hold with this owner, this token or both, and nothing else. Notifies its
-- client and grants the lock to waiters.
--
-- KEYS[1] lock     hash: owner -> 1, token, since, unclaimed, label; or shared (include/shares.lua)
-- KEYS[2] queue    sorted set: owner by position
-- KEYS[3] waiters  hash: owner -> record (include/queue.lua)
-- KEYS[4] fence    last fencing token
-- ARGV[1] mode      how clients subscribe here: p, s or a (include/queue.lua)
-- ARGV[2] channels  start of the clients' channel names
-- ARGV[3] owner     '' for any
-- ARGV[4] token     '' for any
--
-- Reply: 1 (broken), 0 (the lock is free) or -1 (held by others)

-- @include hand-over

local lock, queue, waiters, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now = clock()

local fields = redis.call('HMGET', lock, 'limit', 'due', 'extra', 'token')
local is_shared = shares_of(lock, fields[1], fields[2], fields[3], now) > 0
local all = redis.call('HGETALL', lock)
if #all == 0 then
  return 0
end

-- Locks of other software have no token.
local broken
for i = 1, #all, 2 do
  local owner = all[i]
  if is_owner(owner) and (ARGV[3] == '' or ARGV[3] == owner) then
    local token = is_shared and decode_share(all[i + 1]).token or fields[4]
    if ARGV[4] == '' or ARGV[4] == token then
      broken = owner
    end
  end
end
if not broken then
  return -1
end

local is_free = not is_shared
if is_shared then
  local _, is_last = remove_holder(lock, broken, now)
  is_free = is_last
else
  redis.call('DEL', lock)
end
redis.pcall(ARGV[1] == 's' and 'SPUBLISH' or 'PUBLISH', ARGV[2] .. client_of(broken), 'broken ' .. broken)
if redis.call('EXISTS', queue) == 1 then
  serve(lock, queue, waiters, fence, now, is_free)
end
return 1
