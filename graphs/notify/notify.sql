-- The small world of the support example: tickets with a due time, a rota, and the notifications that were sent.
-- Times stand here relative to the moment at which the world is written, which turns them into UTC times.

CREATE TABLE tickets (
    id TEXT PRIMARY KEY,
    priority TEXT NOT NULL CHECK (priority IN ('high', 'normal', 'low')),
    status TEXT NOT NULL CHECK (status IN ('open', 'solved')),
    due_at TEXT NOT NULL,
    subject TEXT NOT NULL
);

CREATE TABLE shifts (
    engineer_id TEXT NOT NULL,
    role TEXT NOT NULL,
    starts_at TEXT NOT NULL,
    ends_at TEXT NOT NULL
);

-- One row for each notification that was sent, under the key of the action that asked for it.
CREATE TABLE notifications (
    id INTEGER PRIMARY KEY,
    idempotency_key TEXT NOT NULL UNIQUE,
    engineer_id TEXT NOT NULL,
    ticket_ids TEXT NOT NULL,
    message TEXT NOT NULL,
    sent_at TEXT NOT NULL
);

INSERT INTO tickets VALUES
    ('T-1031', 'high', 'solved', '-300 minutes', 'Export of invoices stays empty'),
    ('T-1042', 'high', 'open', '-45 minutes', 'Nobody of our team can sign in since this morning'),
    ('T-1047', 'high', 'open', '+180 minutes', 'Webhooks arrive twice'),
    ('T-1050', 'normal', 'open', '+1500 minutes', 'How do I change the billing address?'),
    ('T-1052', 'low', 'open', '+4300 minutes', 'Dark theme for the reports');

INSERT INTO shifts VALUES
    ('E-03', 'support engineer, night', '-600 minutes', '-120 minutes'),
    ('E-07', 'support engineer, day', '-120 minutes', '+360 minutes'),
    ('E-11', 'support engineer, late', '+360 minutes', '+840 minutes');
