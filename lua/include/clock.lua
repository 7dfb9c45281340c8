-- The server's clock in whole microseconds. Below 2^53 until the year 2255.
local function now_us()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- tostring() would round a 16-digit number.
local function digits(number)
  return string.format('%.0f', number)
end
