-- SPDX-License-Identifier: Apache-2.0
-- Columns with which a coordinator can run several trials at once, take over the jobs of a killed coordinator, and stay
-- within a budget.

ALTER TABLE campaign ADD COLUMN heartbeat_at REAL;

ALTER TABLE trial ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1 CHECK (attempt >= 1);
ALTER TABLE trial ADD COLUMN limit_s REAL CHECK (limit_s > 0);
ALTER TABLE trial ADD COLUMN nodes INTEGER NOT NULL DEFAULT 0 CHECK (nodes >= 0);
ALTER TABLE trial ADD COLUMN elapsed_s REAL CHECK (elapsed_s >= 0);
ALTER TABLE trial ADD COLUMN ordinal INTEGER;

UPDATE trial SET ordinal = id WHERE state NOT IN ('planned', 'running');

CREATE UNIQUE INDEX trial_by_end ON trial (campaign_id, ordinal) WHERE ordinal IS NOT NULL;
