-- The small world of the on-call example: what the tools look up and what rollback changes.
-- Times are UTC. The incident began at 02:14, five minutes after deploy 4471 went live.

CREATE TABLE services (
    name TEXT PRIMARY KEY,
    tier INTEGER NOT NULL,
    owner_role TEXT NOT NULL,
    live_deploy TEXT NOT NULL REFERENCES deploys (id)
);

CREATE TABLE deploys (
    id TEXT PRIMARY KEY,
    service TEXT NOT NULL REFERENCES services (name),
    version TEXT NOT NULL,
    replaces TEXT,
    author_role TEXT NOT NULL,
    deployed_at TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('live', 'superseded', 'rolled_back')),
    summary TEXT NOT NULL,
    patch TEXT
);

CREATE TABLE incidents (
    id TEXT PRIMARY KEY,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    severity TEXT NOT NULL,
    seen_on TEXT NOT NULL REFERENCES services (name),
    traced_to TEXT REFERENCES services (name),
    title TEXT NOT NULL,
    notes TEXT NOT NULL
);

-- What monitoring measured while a deploy was live.
CREATE TABLE measurements (
    service TEXT NOT NULL REFERENCES services (name),
    deploy TEXT NOT NULL,
    error_rate REAL NOT NULL,
    p99_ms INTEGER NOT NULL,
    PRIMARY KEY (service, deploy)
);

-- One row for each rollback that happened, under the key of the action that asked for it.
CREATE TABLE rollbacks (
    idempotency_key TEXT PRIMARY KEY,
    deploy TEXT NOT NULL REFERENCES deploys (id),
    reason TEXT NOT NULL,
    result TEXT NOT NULL
);

INSERT INTO services VALUES
    ('checkout-web', 1, 'storefront on-call', '4466'),
    ('cart-api', 2, 'storefront on-call', '4459'),
    ('payments-api', 1, 'payments on-call', '4471'),
    ('fraud-check', 2, 'risk on-call', '4463'),
    ('ledger', 1, 'finance platform on-call', '4438'),
    ('search-api', 3, 'discovery on-call', '4470');

INSERT INTO deploys VALUES
    ('4438', 'ledger', '5.20.1', '4401', 'finance platform engineer', '2026-03-11T09:12:00Z', 'live',
     'Index for the monthly statement', NULL),
    ('4444', 'checkout-web', '8.3.0', '4419', 'storefront engineer', '2026-03-12T10:05:00Z', 'superseded',
     'New address form', NULL),
    ('4452', 'payments-api', '2.31.0', '4420', 'payments engineer', '2026-03-13T08:40:00Z', 'superseded',
     'Settlement files in batches of 500', NULL),
    ('4459', 'cart-api', '3.9.2', '4433', 'storefront engineer', '2026-03-14T13:21:00Z', 'live',
     'Keep a cart for 60 days', NULL),
    ('4463', 'fraud-check', '1.17.0', '4440', 'risk engineer', '2026-03-16T11:48:00Z', 'live',
     'Rule set of March', NULL),
    ('4466', 'checkout-web', '8.3.1', '4444', 'storefront engineer', '2026-03-16T15:30:00Z', 'live',
     'Fix the width of the address form on tablets', NULL),
    ('4470', 'search-api', '12.1.0', '4457', 'discovery engineer', '2026-03-16T22:02:00Z', 'live',
     'Synonyms for sizes', NULL),
    ('4471', 'payments-api', '2.31.1', '4452', 'payments engineer', '2026-03-17T02:09:00Z', 'live',
     'Retry budget of the outgoing clients', 'deploy-4471.patch');

INSERT INTO incidents VALUES
    ('INC-2071', '2026-03-04T16:20:00Z', '2026-03-04T16:52:00Z', 'sev3', 'checkout-web', 'checkout-web',
     'Checkout button below the fold on small screens', 'Style sheet of 8.2.4; fixed forward.'),
    ('INC-2084', '2026-03-12T07:31:00Z', '2026-03-12T08:10:00Z', 'sev2', 'ledger', 'ledger',
     'Bookings delayed by up to 20 minutes', 'Lock contention while the monthly statement ran.'),
    ('INC-2090', '2026-03-15T19:04:00Z', '2026-03-15T19:40:00Z', 'sev3', 'search-api', 'search-api',
     'Search returns no result for shoe sizes', 'Analyzer of the index was wrong; rebuilt.'),
    ('INC-2093', '2026-03-17T02:14:00Z', NULL, 'sev1', 'checkout-web', 'payments-api',
     'Checkout fails for about 31 % of orders',
     'HTTP 504 from payments-api on POST /charges; it gives up on the card network after 1 s. First error 5 minutes after deploy 4471.');

INSERT INTO measurements VALUES
    ('checkout-web', '4466', 0.004, 780),
    ('cart-api', '4459', 0.001, 120),
    ('payments-api', '4452', 0.003, 910),
    ('payments-api', '4471', 0.312, 1040),
    ('fraud-check', '4463', 0.002, 210),
    ('ledger', '4438', 0.001, 95),
    ('search-api', '4470', 0.002, 160);
