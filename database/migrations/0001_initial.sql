-- SPDX-License-Identifier: Apache-2.0
-- Columns are described in docs/reference/schema.md. Times are Unix seconds (UTC). Tables are not STRICT, because
-- SQLite 3.26 (RHEL 8) does not support this option.

CREATE TABLE migration (
  version    INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_at REAL NOT NULL
);

CREATE TABLE campaign (
  id                INTEGER PRIMARY KEY AUTOINCREMENT,
  name              TEXT NOT NULL,
  component         TEXT NOT NULL,
  component_version TEXT NOT NULL,
  created_at        REAL NOT NULL,
  spec              TEXT NOT NULL CHECK (json_valid(spec) AND json_type(spec) = 'object'),
  context           TEXT NOT NULL CHECK (json_valid(context) AND json_type(context) = 'object'),
  state             TEXT NOT NULL CHECK (state IN ('running', 'complete', 'failed', 'stopped')),
  summary           TEXT NOT NULL CHECK (json_valid(summary) AND json_type(summary) = 'object')
);

CREATE TABLE trial (
  id              INTEGER PRIMARY KEY,
  campaign_id     INTEGER NOT NULL REFERENCES campaign (id),
  problem         TEXT NOT NULL,
  number          INTEGER NOT NULL CHECK (number >= 0),
  role            TEXT NOT NULL CHECK (role IN ('default', 'search', 'final-default', 'final-tuned')),
  parametrization TEXT NOT NULL CHECK (json_valid(parametrization) AND json_type(parametrization) = 'object'),
  state           TEXT NOT NULL CHECK (state IN ('planned', 'running', 'complete', 'failed', 'timeout', 'preempted',
                                                 'cancelled', 'pruned')),
  value           REAL CHECK ((state = 'complete') <= (value IS NOT NULL)),
  unit            TEXT NOT NULL,
  samples         TEXT NOT NULL CHECK (json_valid(samples) AND json_type(samples) = 'array'),
  slurm_job_id    INTEGER,
  started_at      REAL,
  ended_at        REAL,
  message         TEXT NOT NULL,
  UNIQUE (campaign_id, problem, number)
);

CREATE TABLE artifact (
  sha256     TEXT PRIMARY KEY CHECK (length(sha256) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*'),
  path       TEXT NOT NULL,
  kind       TEXT NOT NULL,
  size       INTEGER NOT NULL CHECK (size >= 0),
  created_at REAL NOT NULL
);

CREATE TABLE record (
  id                INTEGER PRIMARY KEY AUTOINCREMENT,
  component         TEXT NOT NULL,
  component_version TEXT NOT NULL,
  scope             TEXT NOT NULL CHECK (scope IN ('application', 'cluster')),
  created_at        REAL NOT NULL,
  context           TEXT NOT NULL CHECK (json_valid(context) AND json_type(context) = 'object'),
  metadata          TEXT NOT NULL CHECK (json_valid(metadata) AND json_type(metadata) = 'object'),
  parametrization   TEXT NOT NULL CHECK (json_valid(parametrization) AND json_type(parametrization) = 'object'),
  environment       TEXT NOT NULL CHECK (json_valid(environment) AND json_type(environment) = 'object'),
  conflicts         TEXT NOT NULL CHECK (json_valid(conflicts) AND json_type(conflicts) = 'array'),
  default_mean      REAL NOT NULL,
  default_low       REAL NOT NULL,
  default_high      REAL NOT NULL,
  default_n         INTEGER NOT NULL CHECK (default_n >= 1),
  default_unit      TEXT NOT NULL,
  tuned_mean        REAL NOT NULL,
  tuned_low         REAL NOT NULL,
  tuned_high        REAL NOT NULL,
  tuned_n           INTEGER NOT NULL CHECK (tuned_n >= 1),
  tuned_unit        TEXT NOT NULL,
  gain              REAL NOT NULL,
  gain_low          REAL NOT NULL,
  gain_high         REAL NOT NULL,
  campaign_id       INTEGER REFERENCES campaign (id),
  artifact_sha256   TEXT REFERENCES artifact (sha256),
  status            TEXT NOT NULL CHECK (status IN ('active', 'quarantined', 'retired')),
  CHECK (default_low <= default_high),
  CHECK (tuned_low <= tuned_high),
  CHECK (default_unit = tuned_unit),
  CHECK (gain_low <= gain_high),
  CHECK ((scope = 'cluster') <= (metadata = '{}'))
);

CREATE INDEX record_by_campaign ON record (campaign_id);
CREATE INDEX record_by_artifact ON record (artifact_sha256);

CREATE TABLE decision (
  id           TEXT PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^0-9A-Za-z_-]*'),
  at           REAL NOT NULL,
  point        TEXT NOT NULL CHECK (point IN ('submit', 'start')),
  cluster      TEXT NOT NULL,
  uid          INTEGER NOT NULL CHECK (uid >= 0),
  user         TEXT NOT NULL,
  mode         TEXT NOT NULL CHECK (mode IN ('on', 'observe', 'explain')),
  verdict      TEXT NOT NULL CHECK (verdict IN ('apply', 'none', 'observe', 'holdout', 'defer')),
  reason       TEXT NOT NULL,
  model        TEXT NOT NULL,
  threshold    REAL NOT NULL,
  metadata     TEXT NOT NULL CHECK (json_valid(metadata) AND json_type(metadata) = 'object'),
  score        REAL,
  record_id    INTEGER REFERENCES record (id),
  fields       TEXT NOT NULL CHECK (json_valid(fields) AND json_type(fields) = 'array'),
  alternatives TEXT NOT NULL CHECK (json_valid(alternatives) AND json_type(alternatives) = 'array'),
  injected     TEXT NOT NULL CHECK (json_valid(injected) AND json_type(injected) = 'object'),
  elapsed_ms   REAL NOT NULL,
  job_id       INTEGER,
  array_task   INTEGER
);

CREATE INDEX decision_by_job ON decision (cluster, job_id) WHERE job_id IS NOT NULL;
CREATE INDEX decision_by_time ON decision (at);
CREATE INDEX decision_by_record ON decision (record_id) WHERE record_id IS NOT NULL;

-- decision_id is the id that the job reported. It is not a foreign key, because the decision may be deleted or may
-- never have existed.
CREATE TABLE outcome (
  id          INTEGER PRIMARY KEY,
  cluster     TEXT NOT NULL,
  job_id      INTEGER NOT NULL,
  array_task  INTEGER,
  uid         INTEGER NOT NULL CHECK (uid >= 0),
  verdict     TEXT NOT NULL,
  started_at  REAL NOT NULL,
  decision_id TEXT,
  applied     INTEGER NOT NULL CHECK (applied >= 0),
  ended_at    REAL,
  elapsed_s   REAL CHECK (elapsed_s >= 0),
  exit_status INTEGER
);

CREATE INDEX outcome_by_job ON outcome (cluster, job_id);
CREATE INDEX outcome_by_decision ON outcome (decision_id) WHERE decision_id IS NOT NULL;
CREATE INDEX outcome_by_time ON outcome (started_at);

CREATE TABLE service_run (
  id         INTEGER PRIMARY KEY,
  started_at REAL NOT NULL,
  seen_at    REAL NOT NULL CHECK (seen_at >= started_at),
  stopped_at REAL CHECK (stopped_at >= started_at),
  version    TEXT NOT NULL
);

CREATE INDEX service_run_by_time ON service_run (started_at);
