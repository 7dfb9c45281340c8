-- A server that is out of memory rejects a script if its first write needs memory. Scripts that only
-- keep or end a hold must run, so they begin with a write that needs none and does nothing.
local function begin_without_memory(lock)
  redis.pcall('HDEL', lock, '')
end
