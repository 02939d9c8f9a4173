-- SPDX-License-Identifier: Apache-2.0
-- The parts of a trial's objective, e.g. separate values for reading and writing.

ALTER TABLE trial ADD COLUMN metrics TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(metrics));
