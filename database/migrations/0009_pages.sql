-- SPDX-License-Identifier: Apache-2.0
-- What pages look for among a million rows: days and verdicts, a user's jobs, an application's, records by status.

DROP INDEX decision_by_record;
CREATE INDEX decision_by_record ON decision (record_id, at) WHERE record_id IS NOT NULL;
DROP INDEX decision_by_time;
CREATE INDEX decision_by_time ON decision (at, verdict);
CREATE INDEX decision_by_user ON decision (user, at);
CREATE INDEX decision_by_program ON decision (json_extract(metadata, '$.program'), at);
CREATE INDEX decision_by_job_name ON decision (json_extract(metadata, '$.job_name'), at);
DROP INDEX outcome_by_time;
CREATE INDEX outcome_by_time ON outcome (started_at, uid);
CREATE INDEX record_by_status ON record (status, id);
CREATE INDEX record_by_component ON record (component, id);
CREATE INDEX record_by_user ON record (json_extract(metadata, '$.user'), id);
CREATE INDEX record_by_program ON record (json_extract(metadata, '$.program'), id);
CREATE INDEX record_by_job_name ON record (json_extract(metadata, '$.job_name'), id);
