-- SPDX-License-Identifier: Apache-2.0
-- Install as burst_buffer.lua beside slurm.conf (BurstBufferType=burst_buffer/lua). A batch script asks for a burst
-- buffer on the I/O nodes with a line like
--
--   #BB_LUA pool=ram capacity=4G close=wait
--
-- Slurm reserves the capacity of the pool, the job gets the variables of the library, and Slurm keeps the reservation
-- until all data that the job wrote are in the file system. Works with Lua 5.1 to 5.4.

-- Settings of the site. The directory is forwarding.maps of reprise.toml. RAM and flash, in bytes, are what burst
-- buffers may use on each I/O node; burst-ram-bytes and burst-flash-bytes of its forwarder must allow one job as much.
local MAPS = "/var/lib/reprise/forwarders"
local POOLS = {ram = 8 * 2^30, flash = 0}
local LIBRARIES = "/usr/local/lib"
local DRAIN = "/usr/local/bin/reprise forwarders drain"

local DIRECTIVES = {["#BB_LUA"] = true, ["#SBB"] = true}
local UNITS = {
  [""] = 1, k = 2^10, m = 2^20, g = 2^30, t = 2^40, p = 2^50, kib = 2^10, mib = 2^20, gib = 2^30, tib = 2^40, pib = 2^50,
  kb = 1e3, mb = 1e6, gb = 1e9, tb = 1e12, pb = 1e15,
}
local CLOSE = {["return"] = true, wait = true}
-- Limits of the forwarder's options (docs/reference/forwarder.md), which would refuse other numbers when the job runs.
local NUMBERS = {
  workers = {1, 64}, ["ram-destagers"] = {1, 64}, ["flash-destagers"] = {1, 64}, ["ram-threshold"] = {0, 100},
  ["flash-threshold"] = {0, 100}, ["destage-after"] = {0, 86400000},
}
-- Smallest cache of a job on each forwarder, in bytes. Slurm reserves multiples of it.
local LEAST = {ram = 2^20, flash = 2 * 2^20}
-- Largest cache that the forwarder's options allow, in bytes.
local MOST = 2^50

local function read(path)
  local file, problem = io.open(path)
  if not file then
    error("cannot read " .. problem, 0)
  end
  local text = file:read("*a")
  file:close()
  return text
end

-- The variables that the arbiter states for jobs with burst buffers, and the number of forwarders.
local function site()
  local text = read(MAPS .. "/bursts.env")
  local map = text:match("REPRISE_FORWARD_MAP=([^\n]+)")
  if not map then
    error(MAPS .. "/bursts.env names no map: start the arbiter again", 0)
  end
  local _, lines = read(map):gsub("\n", "")
  return text, lines - 1
end

local function bytes(word)
  local number, unit = word:match("^(%d+)(%a*)$")
  local scale = UNITS[(unit or "?"):lower()]
  if not scale or tonumber(number) == 0 then
    error("capacity=" .. word .. " is no size: write for example capacity=4G", 0)
  end
  local size = tonumber(number) * scale
  if size > MOST then
    error(("capacity=%s is too large: use at most %dT"):format(word, MOST / UNITS.t), 0)
  end
  return size
end

local function number(word, value, limits)
  local found = value:match("^%d+$") and tonumber(value)
  if not found or found < limits[1] or found > limits[2] then
    error(("%s is invalid: use a number from %d to %d"):format(word, limits[1], limits[2]), 0)
  end
  return value
end

-- The pool, the capacity in bytes, and the options that a batch script asks for.
local function wanted(script)
  local pool, capacity
  local options = {}
  for line in read(script):gmatch("[^\n]+") do
    local directive, rest = line:match("^(#%w+_?%w*)%s+(.*)$")
    for word in (DIRECTIVES[directive] and rest or ""):gmatch("%S+") do
      local name, value = word:match("^([%w-]+)=(.*)$")
      if name == "pool" then
        pool = value
      elseif name == "capacity" then
        capacity = bytes(value)
      elseif name == "close" and CLOSE[value] then
        options[name] = value
      elseif NUMBERS[name] then
        options[name] = number(word, value, NUMBERS[name])
      else
        error(word .. " is unknown: use pool, capacity, close, workers, or a threshold or number of destagers", 0)
      end
    end
  end
  if not POOLS[pool] or POOLS[pool] == 0 or not capacity then
    error("a burst buffer needs a pool and a capacity: write for example #BB_LUA pool=ram capacity=4G", 0)
  end
  return pool, capacity, options
end

-- The variables of a job, one in each line.
local function variables(script)
  local pool, capacity, options = wanted(script)
  local text, forwarders = site()
  local lines = {text:gsub("\n+$", ""), "REPRISE_FORWARD_BURST=" .. pool, "LD_PRELOAD=" .. LIBRARIES .. "/libreprise_burst.so"}
  options[pool .. "-bytes"] = string.format("%d", math.max(LEAST[pool], math.floor(capacity / forwarders)))
  for name, value in pairs(options) do
    lines[#lines + 1] = "REPRISE_FORWARD_BURST_" .. name:upper():gsub("-", "_") .. "=" .. value
  end
  return table.concat(lines, "\n") .. "\n"
end

-- Call a function. Return what Slurm expects: a failure has one line of text.
local function answer(call, ...)
  local worked, result = pcall(call, ...)
  if worked then
    return slurm.SUCCESS, result
  end
  slurm.log_error("burst_buffer.lua: %s", result)
  return slurm.ERROR, result
end

function slurm_bb_job_process(script)
  local code, problem = answer(wanted, script)
  return code, code == slurm.SUCCESS and "" or problem
end

function slurm_bb_pools()
  return answer(function()
    local _, forwarders = site()
    local each = '{"id": "%s", "quantity": %d, "granularity": %d}'
    local pools = {}
    for name, size in pairs(POOLS) do
      if size > 0 then
        pools[#pools + 1] = each:format(name, size * forwarders, LEAST[name] * forwarders)
      end
    end
    return '{"pools": [' .. table.concat(pools, ", ") .. "]}"
  end)
end

-- Slurm waits for this function, so it only reads and writes small files.
function slurm_bb_paths(_, script, path)
  return answer(function()
    local file = assert(io.open(path, "w"))
    file:write(variables(script))
    file:close()
    return ""
  end)
end

-- Wait until all data are in the file system. Until then, the job is in the state STAGE_OUT.
function slurm_bb_data_out(job)
  return answer(function()
    local pipe = assert(io.popen(("%s %d 2>&1; echo $?"):format(DRAIN, tonumber(job))))
    local said, code = pipe:read("*a"):match("^(.-)%s*(%d+)%s*$")
    pipe:close()
    if code ~= "0" then
      error(said, 0)
    end
    return ""
  end)
end

function slurm_bb_get_status()
  return answer(function()
    local _, forwarders = site()
    return forwarders .. " forwarders\n"
  end)
end

-- Slurm requires these functions, but there is nothing to do in them.
local function nothing()
  return slurm.SUCCESS, ""
end
slurm_bb_setup, slurm_bb_data_in, slurm_bb_real_size = nothing, nothing, nothing
slurm_bb_pre_run, slurm_bb_post_run, slurm_bb_job_teardown = nothing, nothing, nothing
