-- SPDX-License-Identifier: Apache-2.0
-- Install as /etc/slurm/cli_filter.lua (CliFilterPlugins=cli_filter/lua), or merge into the file that is there. Runs
-- each srun outside of a job with the best settings known for similar jobs. Batch jobs get settings from the TaskProlog.

local ASK = "exec /usr/local/libexec/reprise/reprise-ask srun 2> /dev/null"
local answer -- for all components of a heterogeneous job, because they are one job with one decision

local function is_step(options)
  return options.jobid ~= "unset" or os.getenv("SLURM_JOB_ID") or os.getenv("SLURM_JOBID")
end

local function ask()
  local pipe = io.popen(ASK)
  local said = pipe and pipe:read("*a") or ""
  if pipe then
    pipe:close()
  end
  return said
end

local function give(options)
  if options.type ~= "srun" or is_step(options) then
    return
  end
  local export = options.export or "ALL"
  if export == "NONE" or export == "NIL" then
    return
  end
  answer = answer or ask()
  if answer ~= "" then
    options.export = export .. answer
  end
end

function slurm_cli_setup_defaults(options, early)
  return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
  pcall(give, options) -- if anything fails, the job runs unchanged
  return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job, step)
  return slurm.SUCCESS
end
