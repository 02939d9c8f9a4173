-- SPDX-License-Identifier: Apache-2.0
BEGIN TRANSACTION;
CREATE TABLE artifact (
  sha256     TEXT PRIMARY KEY CHECK (length(sha256) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*'),
  path       TEXT NOT NULL,
  kind       TEXT NOT NULL,
  size       INTEGER NOT NULL CHECK (size >= 0),
  created_at REAL NOT NULL
);
INSERT INTO "artifact" VALUES('0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef','/srv/a','rules',3,2.0);
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
, heartbeat_at REAL);
INSERT INTO "campaign" VALUES(1,'night','openmpi','4.1.4',1.0,'{"seed":7}','{"nodes":4}','running','{}',NULL);
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
, block TEXT, compared_id INTEGER, held_out INTEGER, block_size INTEGER);
INSERT INTO "decision" VALUES('d1',100.0,'submit','c',1001,'alice','on','none','nothing is like it','thesis 1',0.8,'{"user":"alice"}',NULL,1,'[]','[]','{}',0.0,5,NULL,NULL,NULL,0,NULL);
CREATE TABLE forwarder_share (
  id         INTEGER PRIMARY KEY,
  cluster    TEXT NOT NULL,
  job_id     INTEGER NOT NULL,
  uid        INTEGER NOT NULL CHECK (uid >= 0),
  at         REAL NOT NULL,
  until      REAL CHECK (until >= at),
  forwarders TEXT NOT NULL CHECK (json_valid(forwarders) AND json_type(forwarders) = 'array'),
  shared     INTEGER NOT NULL CHECK (shared IN (0, 1)),
  nodes      INTEGER NOT NULL CHECK (nodes >= 1),
  processes  INTEGER NOT NULL CHECK (processes >= 1),
  policy     TEXT NOT NULL,
  reason     TEXT NOT NULL
);
INSERT INTO "forwarder_share" VALUES(1,'c',5,1001,1000.0,NULL,'["10.0.1.1:5640"]',0,8,64,'mckp','job 5 started');
CREATE TABLE forwarder_state (
  id      INTEGER PRIMARY KEY,
  cluster TEXT NOT NULL,
  address TEXT NOT NULL,
  works   INTEGER NOT NULL CHECK (works IN (0, 1)),
  at      REAL NOT NULL,
  until   REAL CHECK (until >= at),
  reason  TEXT NOT NULL
);
INSERT INTO "forwarder_state" VALUES(1,'c','10.0.1.1:5640',0,5.0,NULL,'Connection refused');
CREATE TABLE job_pattern (
  outcome_id INTEGER NOT NULL REFERENCES outcome (id) ON DELETE CASCADE,
  pattern    TEXT NOT NULL,
  seconds    REAL NOT NULL CHECK (seconds >= 0),
  bytes      INTEGER NOT NULL CHECK (bytes >= 0), confirmed_bytes INTEGER NOT NULL DEFAULT 0 CHECK (confirmed_bytes >= 0),
  PRIMARY KEY (outcome_id, pattern)
) WITHOUT ROWID;
INSERT INTO "job_pattern" VALUES(1,'write/shared/strided/64K',12.5,1000000000,100000000);
CREATE TABLE migration (
  version    INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_at REAL NOT NULL
);
INSERT INTO "migration" VALUES(1,'initial',1.0);
INSERT INTO "migration" VALUES(2,'record_changes',1.0);
INSERT INTO "migration" VALUES(3,'campaign_progress',1.0);
INSERT INTO "migration" VALUES(4,'outcome_reach',1.0);
INSERT INTO "migration" VALUES(5,'trial_metrics',1.0);
INSERT INTO "migration" VALUES(6,'prediction',1.0);
INSERT INTO "migration" VALUES(7,'comparison',1.0);
INSERT INTO "migration" VALUES(8,'outbox',1.0);
INSERT INTO "migration" VALUES(9,'pages',1.0);
INSERT INTO "migration" VALUES(10,'comparisons',1.0);
INSERT INTO "migration" VALUES(11,'evidence',1.0);
INSERT INTO "migration" VALUES(12,'masking',1.0);
INSERT INTO "migration" VALUES(13,'profile',1.0);
INSERT INTO "migration" VALUES(14,'forwarders',1.0);
INSERT INTO "migration" VALUES(15,'job_patterns',1.0);
INSERT INTO "migration" VALUES(16,'confirmed_patterns',1.0);
CREATE TABLE outbox (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  message TEXT NOT NULL CHECK (json_valid(message))
);
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
, unreadable INTEGER NOT NULL DEFAULT 0 CHECK (unreadable >= 0), present INTEGER CHECK (present >= 0), confirmed INTEGER NOT NULL DEFAULT 0 CHECK (confirmed IN (0, 1)));
INSERT INTO "outcome" VALUES(1,'c',5,NULL,1001,'apply',1000.0,'d1',0,NULL,NULL,NULL,0,NULL,0);
CREATE TABLE prediction (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  family TEXT NOT NULL,
  component TEXT NOT NULL,
  component_version TEXT NOT NULL,
  target TEXT NOT NULL,
  created_at REAL NOT NULL,
  engine TEXT NOT NULL,
  settings TEXT NOT NULL CHECK (json_valid(settings)),
  rows TEXT NOT NULL CHECK (json_valid(rows)),
  configurations INTEGER NOT NULL CHECK (configurations >= 0),
  mdape REAL,
  r2 REAL,
  refused TEXT NOT NULL
);
INSERT INTO "prediction" VALUES(1,'f','romio','1','write',1.0,'xgboost 3','{}','[]',0,NULL,NULL,'');
CREATE TABLE profile (
  record_id INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE,
  at        REAL NOT NULL,
  summary   TEXT NOT NULL,
  document  TEXT NOT NULL,
  PRIMARY KEY (record_id)
) WITHOUT ROWID;
INSERT INTO "profile" VALUES(1,6.0,'90.0% compute','{"version":1}');
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
  status            TEXT NOT NULL CHECK (status IN ('active', 'quarantined', 'retired')), status_at REAL, status_reason TEXT NOT NULL DEFAULT '',
  CHECK (default_low <= default_high),
  CHECK (tuned_low <= tuned_high),
  CHECK (default_unit = tuned_unit),
  CHECK (gain_low <= gain_high),
  CHECK ((scope = 'cluster') <= (metadata = '{}'))
);
INSERT INTO "record" VALUES(1,'openmpi','4.1.4','application',3.0,'{"cluster":"c","nodes":4,"openmpi":["4.1.4"]}','{"job_name":"solve","program":"solver","user":"alice"}','{"bcast/65536":{"algorithm":6}}','{"OMPI_MCA_coll_tuned_use_dynamic_rules":"1"}','["OMPI_MCA_coll_tuned_*"]',2.4,2.3,2.5,10,'ms',0.5,0.4,0.6,12,'ms',0.79,0.75,0.83,1,'0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef','active',NULL,'');
CREATE TABLE record_change (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  record_id INTEGER NOT NULL
);
INSERT INTO "record_change" VALUES(1,1);
INSERT INTO "record_change" VALUES(2,1);
CREATE TABLE record_status (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  record_id INTEGER NOT NULL,
  at        REAL NOT NULL,
  status    TEXT NOT NULL,
  reason    TEXT NOT NULL
);
INSERT INTO "record_status" VALUES(1,1,5.0,'retired','old');
CREATE TABLE service_run (
  id         INTEGER PRIMARY KEY,
  started_at REAL NOT NULL,
  seen_at    REAL NOT NULL CHECK (seen_at >= started_at),
  stopped_at REAL CHECK (stopped_at >= started_at),
  version    TEXT NOT NULL
);
INSERT INTO "service_run" VALUES(1,1.0,2.0,3.0,'0.1');
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
  message         TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 1 CHECK (attempt >= 1), limit_s REAL CHECK (limit_s > 0), nodes INTEGER NOT NULL DEFAULT 0 CHECK (nodes >= 0), elapsed_s REAL CHECK (elapsed_s >= 0), ordinal INTEGER, metrics TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(metrics)),
  UNIQUE (campaign_id, problem, number)
);
INSERT INTO "trial" VALUES(1,1,'bcast/65536',0,'search','{"algorithm":6}','planned',NULL,'s','[]',NULL,NULL,NULL,'',1,NULL,0,NULL,NULL,'{}');
CREATE TABLE user_quarantine (
  record_id INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE,
  uid       INTEGER NOT NULL CHECK (uid >= 0),
  user      TEXT NOT NULL,
  at        REAL NOT NULL,
  reason    TEXT NOT NULL,
  PRIMARY KEY (record_id, uid)
) WITHOUT ROWID;
INSERT INTO "user_quarantine" VALUES(1,1001,'alice',5.0,'its jobs take longer');
CREATE INDEX record_by_campaign ON record (campaign_id);
CREATE INDEX record_by_artifact ON record (artifact_sha256);
CREATE INDEX decision_by_job ON decision (cluster, job_id) WHERE job_id IS NOT NULL;
CREATE INDEX outcome_by_job ON outcome (cluster, job_id);
CREATE INDEX outcome_by_decision ON outcome (decision_id) WHERE decision_id IS NOT NULL;
CREATE INDEX service_run_by_time ON service_run (started_at);
CREATE TRIGGER record_added AFTER INSERT ON record BEGIN
  INSERT INTO record_change (record_id) VALUES (new.id);
END;
CREATE TRIGGER record_changed AFTER UPDATE ON record BEGIN
  INSERT INTO record_change (record_id) VALUES (old.id);
  INSERT INTO record_change (record_id) SELECT new.id WHERE new.id <> old.id;
END;
CREATE TRIGGER record_gone AFTER DELETE ON record BEGIN
  INSERT INTO record_change (record_id) VALUES (old.id);
END;
CREATE TRIGGER record_change_forgotten AFTER INSERT ON record_change BEGIN
  DELETE FROM record_change WHERE id <= new.id - 100000;
END;
CREATE UNIQUE INDEX trial_by_end ON trial (campaign_id, ordinal) WHERE ordinal IS NOT NULL;
CREATE INDEX prediction_by_family ON prediction (family, component, target, id);
CREATE INDEX decision_by_record ON decision (record_id, at) WHERE record_id IS NOT NULL;
CREATE INDEX decision_by_time ON decision (at, verdict);
CREATE INDEX decision_by_user ON decision (user, at);
CREATE INDEX decision_by_program ON decision (json_extract(metadata, '$.program'), at);
CREATE INDEX decision_by_job_name ON decision (json_extract(metadata, '$.job_name'), at);
CREATE INDEX outcome_by_time ON outcome (started_at, uid);
CREATE INDEX record_by_status ON record (status, id);
CREATE INDEX record_by_component ON record (component, id);
CREATE INDEX record_by_user ON record (json_extract(metadata, '$.user'), id);
CREATE INDEX record_by_program ON record (json_extract(metadata, '$.program'), id);
CREATE INDEX record_by_job_name ON record (json_extract(metadata, '$.job_name'), id);
CREATE INDEX decision_by_block ON decision (compared_id, block) WHERE block IS NOT NULL;
CREATE INDEX decision_by_uid ON decision (uid, at);
CREATE INDEX record_status_by_record ON record_status (record_id, at);
CREATE TRIGGER record_status_changed AFTER UPDATE OF status, status_at, status_reason ON record
WHEN NEW.status_at IS NOT NULL AND NEW.status_at IS NOT OLD.status_at
BEGIN
  INSERT INTO record_status (record_id, at, status, reason)
  VALUES (NEW.id, NEW.status_at, NEW.status, NEW.status_reason);
END;
CREATE INDEX decision_by_user_block ON decision (compared_id, uid, block) WHERE block IS NOT NULL;
CREATE TRIGGER user_quarantine_added AFTER INSERT ON user_quarantine BEGIN
  INSERT INTO record_change (record_id) VALUES (new.record_id);
END;
CREATE TRIGGER user_quarantine_gone AFTER DELETE ON user_quarantine BEGIN
  INSERT INTO record_change (record_id) VALUES (old.record_id);
END;
CREATE INDEX forwarder_share_by_job ON forwarder_share (cluster, job_id);
CREATE INDEX forwarder_share_by_time ON forwarder_share (at);
CREATE UNIQUE INDEX forwarder_share_now ON forwarder_share (cluster, job_id) WHERE until IS NULL;
CREATE INDEX forwarder_state_by_time ON forwarder_state (at);
CREATE UNIQUE INDEX forwarder_state_now ON forwarder_state (cluster, address) WHERE until IS NULL;
COMMIT;
