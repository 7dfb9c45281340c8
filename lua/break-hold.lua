-- break-hold: breaks one hold, that of an owner, or with a token, or both, and nothing else.
-- Tells its client, and serves those who wait.
--
-- KEYS[1] lock     hash: owner -> 1, token, since, unclaimed, label; or shares (include/shares.lua)
-- KEYS[2] queue    sorted set: owner by ticket
-- KEYS[3] waiters  hash: owner -> record (include/queue.lua)
-- KEYS[4] fence    last fencing token
-- ARGV[1] mode      how clients listen here: p, s or a (include/queue.lua)
-- ARGV[2] channels  what the channels of clients start with here
-- ARGV[3] owner     '' for any
-- ARGV[4] token     '' for any
--
-- Reply: 1 if it was broken, 0 if nobody holds the lock, -1 if others do

-- @include hand-over

local lock, queue, waiters, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now = clock()

local fields = redis.call('HMGET', lock, 'limit', 'due', 'token')
local is_shared = shares_of(lock, fields[1], fields[2], now) > 0
local all = redis.call('HGETALL', lock)
if #all == 0 then
  return 0
end

-- Other software that holds the lock has no token there.
local broken
for i = 1, #all, 2 do
  local owner = all[i]
  if is_owner(owner) and (ARGV[3] == '' or ARGV[3] == owner) then
    local token = is_shared and decode_share(all[i + 1]).token or fields[3]
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
  local _, is_last = let_go(lock, broken, now)
  is_free = is_last
else
  redis.call('DEL', lock)
end
redis.pcall(ARGV[1] == 's' and 'SPUBLISH' or 'PUBLISH', ARGV[2] .. client_of(broken), 'broken ' .. broken)
if redis.call('EXISTS', queue) == 1 then
  serve(lock, queue, waiters, fence, now, is_free)
end
return 1
