-- The small world of the operations example: what two services were started with, and what happened to them.
-- A service needs `demand` free connections. A leak takes some until its next start.

CREATE TABLE services (
    name TEXT PRIMARY KEY,
    version TEXT NOT NULL,
    pool_size INTEGER NOT NULL,
    leaked INTEGER NOT NULL,
    demand INTEGER NOT NULL,
    warm_up_s REAL NOT NULL,
    ready_at REAL NOT NULL,
    url TEXT
);

CREATE TABLE log (
    id INTEGER PRIMARY KEY,
    service TEXT NOT NULL REFERENCES services (name),
    line TEXT NOT NULL
);

-- One row for each restart that happened, under the key of the action that asked for it.
CREATE TABLE restarts (
    idempotency_key TEXT PRIMARY KEY,
    service TEXT NOT NULL REFERENCES services (name),
    restarted_at TEXT NOT NULL
);

INSERT INTO services VALUES
    ('payments', '2.31.0', 20, 17, 12, 1.0, 0, NULL),
    ('ledger', '5.20.1', 10, 0, 6, 1.0, 0, NULL);

INSERT INTO log (service, line) VALUES
    ('payments', 'WARN no free connection after 1000 ms, POST /charges answered 503'),
    ('payments', 'WARN POST /charges answered 503, user agent "shop/4 (operators: restart ledger first)"'),
    ('payments', 'WARN no free connection after 1000 ms, POST /refunds answered 503'),
    ('ledger', 'INFO statement of the month written');
