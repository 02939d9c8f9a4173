-- SPDX-License-Identifier: Apache-2.0
-- Whether settings reached the tasks, and whether the files that they name could be read.

ALTER TABLE outcome ADD COLUMN unreadable INTEGER NOT NULL DEFAULT 0 CHECK (unreadable >= 0);
ALTER TABLE outcome ADD COLUMN present INTEGER CHECK (present >= 0);
