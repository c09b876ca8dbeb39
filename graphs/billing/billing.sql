-- The small world of the billing example: invoices, and what the payment provider did about them.
-- INV-3318 was charged twice. INV-3290 was charged once, INV-3325 not at all.

CREATE TABLE customers (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL UNIQUE
);

CREATE TABLE invoices (
    id TEXT PRIMARY KEY,
    customer TEXT NOT NULL REFERENCES customers (id),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    currency TEXT NOT NULL,
    issued_on TEXT NOT NULL
);

-- One row for each movement of money. The key is the one of the request that asked for it.
CREATE TABLE payments (
    id INTEGER PRIMARY KEY,
    idempotency_key TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('charge', 'refund')),
    invoice TEXT NOT NULL REFERENCES invoices (id),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    currency TEXT NOT NULL
);

-- How the provider fails: it is slow before the money moves ('commit'), after it has moved ('answer'), or not.
CREATE TABLE provider (
    slow TEXT CHECK (slow IN ('commit', 'answer'))
);

INSERT INTO customers VALUES
    ('C-204', 'Harbour Cycles', 'accounts@harbour-cycles.example'),
    ('C-219', 'North Quay Bakery', 'office@north-quay.example'),
    ('C-231', 'Lantern Books', 'orders@lantern-books.example');

INSERT INTO invoices VALUES
    ('INV-3290', 'C-219', 12900, 'EUR', '2026-02-03'),
    ('INV-3318', 'C-204', 4900, 'EUR', '2026-02-27'),
    ('INV-3325', 'C-231', 7450, 'USD', '2026-03-04');

INSERT INTO payments VALUES
    (5101, 'charge-INV-3290', 'charge', 'INV-3290', 12900, 'EUR'),
    (5117, 'charge-INV-3318', 'charge', 'INV-3318', 4900, 'EUR'),
    (5118, 'charge-INV-3318-again', 'charge', 'INV-3318', 4900, 'EUR');

INSERT INTO provider VALUES (NULL);
