-- The small world of the cleanup example: 1000 records, of which 300 were not used for more than a year.

CREATE TABLE records (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    last_used_on TEXT NOT NULL
);

-- One row for each deletion that happened, under the key of the action that asked for it.
CREATE TABLE deletions (
    idempotency_key TEXT PRIMARY KEY,
    ids TEXT NOT NULL
);

-- The day on which the example plays: what is stale must not depend on when it is read.
CREATE TABLE today (
    day TEXT NOT NULL
);

INSERT INTO today VALUES ('2026-03-17');

-- Three of ten records are stale, 400 to 699 days old; the others are at most 349 days old.
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000)
INSERT INTO records
SELECT
    printf('R%04d', n),
    CASE n % 4 WHEN 0 THEN 'export' WHEN 1 THEN 'draft' WHEN 2 THEN 'session' ELSE 'upload' END,
    date('2026-03-17', '-' || (CASE WHEN n % 10 IN (2, 5, 7) THEN 400 + n * 7 % 300 ELSE n * 13 % 350 END) || ' days')
FROM numbers;
