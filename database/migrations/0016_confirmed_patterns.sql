-- SPDX-License-Identifier: Apache-2.0
-- The bytes of an access pattern whose user munge confirmed. For those that are already stored, it is unknown.

ALTER TABLE job_pattern ADD COLUMN confirmed_bytes INTEGER NOT NULL DEFAULT 0 CHECK (confirmed_bytes >= 0);
