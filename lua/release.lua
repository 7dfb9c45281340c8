-- release: for many locks at once, hands each that its owner holds, or its share of it,
-- to the first living waiters, else deletes it. Never touches what someone else holds.
--
-- KEYS[3i-2] lock     hash: owner -> 1, token, since, unclaimed, label; or shares (include/shares.lua)
-- KEYS[3i-1] queue    sorted set: owner by ticket
-- KEYS[3i]   waiters  hash: owner -> record (include/queue.lua)
-- KEYS[#]    fence    last fencing token (shared)
-- ARGV[i]    owner    <client>:<number>
--
-- Reply: 1 if all were released or handed over; else for each lock 1 (released), 0 (not held),
-- or the text of the error that kept it from being released, or from being handed over

local call = redis.call
-- The replies that are not 1, and the locks for which somebody waits.
local replies, rest
-- The lock before, and whether anybody waits for it.
local last, has_queue
-- Of locks of which shares were released, until when the longest of these would have lasted.
local shared
local now_ms
for i = 1, #ARGV do
  local lock = KEYS[3 * i - 2]
  if lock ~= last then
    last, has_queue = lock, call('EXISTS', KEYS[3 * i - 1]) == 1
  end
  if has_queue then
    rest = rest or {}
    rest[#rest + 1] = i
  else
    -- Something else at the lock's name is not held by us, and no matter of the other locks.
    local mine = redis.pcall('HGET', lock, ARGV[i])
    if mine == '1' then
      call('DEL', lock)
    else
      replies = replies or {}
      replies[i] = 0
      if type(mine) == 'string' then
        -- One of its shares (include/shares.lua), which may be over.
        if not now_ms then
          local time = call('TIME')
          now_ms = time[1] * 1000 + time[2] / 1000
        end
        call('HDEL', lock, ARGV[i])
        local ends = tonumber(string.match(mine, '^%d+'))
        shared = shared or {}
        shared[lock] = math.max(shared[lock] or 0, ends)
        replies[i] = ends > now_ms and 1 or 0
      end
    end
  end
end
if not (rest or replies) then
  return 1
end

-- @include hand-over

local now = clock()
replies = replies or {}
for lock, ends in pairs(shared or {}) do
  is_emptied(lock, ends, now)
end

local function release(lock, queue, waiters, owner)
  local held, is_free = let_go(lock, owner, now)
  serve(lock, queue, waiters, KEYS[#KEYS], now, is_free)
  return held and 1 or 0
end

-- One lock's trouble must not end the script: the others have been released, or are to be.
for _, i in ipairs(rest or {}) do
  local done, reply = pcall(release, KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], ARGV[i])
  if not done and type(reply) == 'table' then
    reply = reply.err
  end
  replies[i] = done and reply or tostring(reply)
end
for i = 1, #ARGV do
  replies[i] = replies[i] or 1
end
return replies
