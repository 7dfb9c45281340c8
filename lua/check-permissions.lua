-- check-permissions: tries every command of the other scripts on names of its own, and tells
-- which of them the user may not run. Leaves nothing behind.
--
-- KEYS[1] hash    a hash to be
-- KEYS[2] sorted  a sorted set to be
-- ARGV[1] mode     how clients listen here: p, s or a (include/queue.lua)
-- ARGV[2] channel  of this client
--
-- Reply: {command, error, command, error, ...}

local hash, sorted = KEYS[1], KEYS[2]
local refused = {}

local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    refused[#refused + 1] = (...)
    refused[#refused + 1] = reply.err
  end
end

try('TIME')
try('EXISTS', hash)
try('SET', hash, '1', 'PX', '1000', 'GET')
try('DEL', hash)
try('HSET', hash, 'field', '1')
try('PEXPIRE', hash, '1000')
try('PTTL', hash)
try('HGET', hash, 'field')
try('HMGET', hash, 'field')
try('HLEN', hash)
try('HEXISTS', hash, 'field')
try('HKEYS', hash)
try('HGETALL', hash)
try('ZADD', sorted, '1', 'member')
try('ZSCORE', sorted, 'member')
try('ZRANGE', sorted, '0', '0')
try('ZREM', sorted, 'member')
try(ARGV[1] == 's' and 'SPUBLISH' or 'PUBLISH', ARGV[2], 'check')
try('HDEL', hash, 'field')
return refused
