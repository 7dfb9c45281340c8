-- check-permissions: tries the commands of a store's scripts on keys that do not exist, and returns those
-- that the server rejects. Nothing is written or replicated, so that health checks can run it.
--
-- KEYS[1] hash    a key that is not used (shared)
-- KEYS[2] sorted  another one (shared)
-- KEYS[3] own     a third one (shared)
-- ARGV[i]   command  of the scripts
-- ARGV[#-1] mode     how clients subscribe here: p, s or a (include/queue.lua); '' to publish nothing (shared)
-- ARGV[#]   channel  of this client (shared)
--
-- Reply: {command, error, command, error, ...}

local hash, sorted = KEYS[1], KEYS[2]
local mode, channel = ARGV[#ARGV - 1], ARGV[#ARGV]
local rejected, used = {}, {}
for i = 1, #ARGV - 2 do
  used[ARGV[i]] = true
end

-- Some commands have no form without an effect. They fail for their arguments, after the checks of
-- rights and memory.
local function try(...)
  if not used[(...)] then
    return
  end
  local reply = redis.pcall(...)
  local err = type(reply) == 'table' and reply.err
  local is_for_arguments = err and (string.find(err, 'wrong number') or string.find(err, 'not an integer'))
  if err and not is_for_arguments then
    rejected[#rejected + 1] = (...)
    rejected[#rejected + 1] = err
  end
end

try('TIME')
try('EXISTS', hash, sorted, KEYS[3])
try('SET', hash, '1', 'XX', 'PX', '1000', 'GET')
try('DEL', hash)
try('PEXPIRE', hash, '1000')
try('PTTL', hash)
try('HGET', hash, 'field')
try('HMGET', hash, 'field')
try('HEXISTS', hash, 'field')
try('HGETALL', hash)
try('HDEL', hash, 'field')
try('ZADD', sorted, 'XX', '1', 'member')
try('ZSCORE', sorted, 'member')
try('ZRANGE', sorted, '0', '0')
try('ZREM', sorted, 'member')
try('HSET', hash, 'field', '1', 'no value')
try('HINCRBY', hash, 'field', 'no number')
try('HKEYS', hash)
try('LRANGE', hash, '0', '0')
try('TYPE', hash)
try('INCRBY', hash, 'no number')
try('PUBSUB', mode == 's' and 'SHARDNUMSUB' or 'NUMSUB', channel)
if mode ~= '' then
  local publish = mode == 's' and 'SPUBLISH' or 'PUBLISH'
  used[publish] = true
  try(publish, channel, 'check')
end
return rejected
