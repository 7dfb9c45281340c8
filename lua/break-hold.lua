-- break-hold: breaks the hold with this owner, this token or both; all holds if neither is given.
-- Notifies the clients of the holders, and grants the lock to waiters.
--
-- KEYS[1] lock     hash: owner -> 1, token, since, unclaimed, label; or shared (include/shared-holds.lua)
-- KEYS[2] queue    sorted set: owner by position
-- KEYS[3] waiters  hash: owner -> record (include/queue.lua)
-- KEYS[4] fence    last fencing token (shared)
-- ARGV[1] mode      how clients subscribe here: p, s or a (include/queue.lua)
-- ARGV[2] channels  start of the clients' channel names
-- ARGV[3] owner     '' for any
-- ARGV[4] token     '' for any
--
-- Reply: 1 (broken), 0 (the lock is free) or -1 (held by others)

-- @include hand-over

local lock, queue, waiters, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now = clock()

local is_shared = permits_held(lock, now) > 0
local all, exclusive_token = redis.call('HGETALL', lock), redis.call('HGET', lock, 'token')
local is_any = ARGV[3] == '' and ARGV[4] == ''

local broken = {}
for i = 1, #all, 2 do
  local owner = all[i]
  if is_owner(owner) and (ARGV[3] == '' or ARGV[3] == owner) then
    local token = is_shared and decode_hold(all[i + 1]).token or exclusive_token
    if ARGV[4] == '' or ARGV[4] == token then
      broken[#broken + 1] = owner
    end
  end
end
-- Locks of other software have no owner and no token.
if #all > 0 and #broken == 0 and not is_any then
  return -1
end

if is_any then
  redis.call('DEL', lock)
end
for _, owner in ipairs(broken) do
  remove_holder(lock, owner, now)
  redis.pcall(ARGV[1] == 's' and 'SPUBLISH' or 'PUBLISH', ARGV[2] .. client_of(owner), 'broken ' .. owner)
end
serve(lock, queue, waiters, fence, now)
return #all > 0 and 1 or 0
