-- SPDX-License-Identifier: Apache-2.0
-- The number of variables that reached a job's tasks, and the number of files named by the settings that could not be
-- read.

ALTER TABLE outcome ADD COLUMN unreadable INTEGER NOT NULL DEFAULT 0 CHECK (unreadable >= 0);
ALTER TABLE outcome ADD COLUMN present INTEGER CHECK (present >= 0);
