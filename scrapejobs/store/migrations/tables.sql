-- Tables whose shape is ours rather than the ORM's: day partitions, queue tables, checks.

CREATE TABLE job (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    priority smallint NOT NULL,
    url text NOT NULL,
    host text NOT NULL,
    params jsonb NOT NULL,
    callback_url text,
    tags jsonb NOT NULL DEFAULT '{}',
    max_attempts smallint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deadline_s float8 NOT NULL DEFAULT 86400,
    deadline_at timestamptz NOT NULL,
    published_at timestamptz,
    attempts smallint NOT NULL DEFAULT 0,
    lost smallint NOT NULL DEFAULT 0,
    last_number integer NOT NULL DEFAULT 0,
    started_at timestamptz,
    error_class text,
    error_code text,
    error_detail text,
    error_at timestamptz,
    final_state text,
    finished_at timestamptz,
    finish_published_at timestamptz,
    discarded_at timestamptz,
    result_key text,
    result_size bigint,
    result_sha256 text,
    result_content_type text,
    result_complete text,
    result_meta jsonb,
    CONSTRAINT job_priority_known CHECK (priority BETWEEN 0 AND 2),
    CONSTRAINT job_final_state_known CHECK (final_state IN ('succeeded', 'failed', 'cancelled')),
    CONSTRAINT job_final_has_finished CHECK ((final_state IS NULL) = (finished_at IS NULL)),
    CONSTRAINT job_finish_published_is_final CHECK (finish_published_at IS NULL OR final_state IS NOT NULL),
    CONSTRAINT job_failed_has_reason CHECK (final_state IS DISTINCT FROM 'failed' OR error_code IS NOT NULL),
    CONSTRAINT job_discarded_is_failed CHECK (discarded_at IS NULL OR final_state IS NOT DISTINCT FROM 'failed'),
    CONSTRAINT job_result_iff_succeeded CHECK (
        (final_state IS NOT DISTINCT FROM 'succeeded')
        = (result_key IS NOT NULL AND result_size IS NOT NULL AND result_sha256 IS NOT NULL)
    )
) PARTITION BY RANGE (id);
CREATE INDEX job_tenant ON job (tenant_id, id);
CREATE INDEX job_tenant_state ON job (tenant_id, final_state, id);
CREATE INDEX job_tenant_unfinished ON job (tenant_id, id) WHERE final_state IS NULL;
CREATE INDEX job_tenant_host ON job (tenant_id, host, id);
CREATE INDEX job_unpublished ON job (id) WHERE published_at IS NULL AND final_state IS NULL;
CREATE INDEX job_finish_unpublished ON job (id) WHERE finish_published_at IS NULL AND final_state IS NOT NULL;
CREATE INDEX job_deadline ON job (deadline_at) WHERE final_state IS NULL;
CREATE INDEX job_dead_letter ON job (host, error_class, error_code, id)
    WHERE final_state = 'failed' AND discarded_at IS NULL;
COMMENT ON TABLE job IS 'what a client asked for; unfinished while final_state is NULL, then held by exactly one of: unpublished, queued, delayed, ready, lease';
COMMENT ON COLUMN job.deadline_s IS 'seconds it may take from its submission, or from its latest requeue';
COMMENT ON COLUMN job.attempts IS 'attempts charged since it was submitted or requeued';
COMMENT ON COLUMN job.lost IS 'attempts whose worker was lost since it was submitted or requeued';
COMMENT ON COLUMN job.last_number IS 'number of the latest ended attempt, never reset';

CREATE TABLE attempt (
    job_id uuid NOT NULL,
    seq bigint NOT NULL,
    number integer NOT NULL,
    worker text NOT NULL,
    started_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    outcome text NOT NULL,
    code text,
    detail text,
    charged boolean NOT NULL,
    target_status smallint,
    phase text,
    bytes bigint NOT NULL DEFAULT 0,
    exchange jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (job_id, seq),
    CONSTRAINT attempt_outcome_known CHECK (
        outcome IN ('stored', 'temporary', 'permanent', 'released', 'lost', 'cancelled')
    )
) PARTITION BY RANGE (job_id);

CREATE TABLE event (
    id uuid PRIMARY KEY,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    job_id uuid NOT NULL,
    tenant_id bigint NOT NULL,
    status text NOT NULL,
    finished_at timestamptz NOT NULL
) PARTITION BY RANGE (id);
CREATE INDEX event_feed ON event (tenant_id, xid, seq);

-- One entry is one delivery: its seq is the fence. Appended and deleted, never updated.
CREATE TABLE queued (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id uuid NOT NULL UNIQUE,
    priority smallint NOT NULL,
    tenant_id bigint NOT NULL,
    host text NOT NULL,
    front boolean NOT NULL DEFAULT false,
    queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    xid xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX queued_xid ON queued (xid);
CREATE INDEX queued_oldest ON queued (priority, queued_at);

CREATE TABLE delayed (
    job_id uuid PRIMARY KEY,
    due_at timestamptz NOT NULL,
    priority smallint NOT NULL,
    tenant_id bigint NOT NULL,
    host text NOT NULL
);
CREATE INDEX delayed_due ON delayed (due_at);

CREATE TABLE ready (
    pos bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    seq bigint NOT NULL UNIQUE,
    job_id uuid NOT NULL UNIQUE,
    priority smallint NOT NULL,
    tenant_id bigint NOT NULL,
    host text NOT NULL,
    queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ready_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- No ready row has a smaller pos than this: a measured minimum, so that a claim jumps over dead index entries.
CREATE SEQUENCE ready_floor;

CREATE TABLE lease (
    seq bigint PRIMARY KEY,
    job_id uuid NOT NULL UNIQUE,
    number integer NOT NULL,
    priority smallint NOT NULL,
    tenant_id bigint NOT NULL,
    host text NOT NULL,
    worker_id uuid NOT NULL,
    worker text NOT NULL,
    started_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX lease_tenant ON lease (tenant_id, job_id);

CREATE TABLE dispatcher (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    epoch bigint NOT NULL DEFAULT 0,
    holder text,
    expires_at timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO dispatcher DEFAULT VALUES;

CREATE TABLE service (
    id uuid PRIMARY KEY,
    role text NOT NULL,
    name text NOT NULL,
    hostname text NOT NULL,
    pid integer NOT NULL,
    slots integer NOT NULL DEFAULT 0,
    draining boolean NOT NULL DEFAULT false,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE delivery (
    event_id uuid PRIMARY KEY,
    job_id uuid NOT NULL,
    tenant_id bigint NOT NULL,
    url text NOT NULL,
    state text NOT NULL DEFAULT 'pending',
    tries smallint NOT NULL DEFAULT 0,
    next_try_at timestamptz,
    last_status smallint,
    last_error text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT delivery_state_known CHECK (state IN ('pending', 'delivered', 'given_up')),
    CONSTRAINT delivery_pending_has_time CHECK ((state = 'pending') = (next_try_at IS NOT NULL))
);
CREATE INDEX delivery_job ON delivery (job_id);
CREATE INDEX delivery_due ON delivery (next_try_at) WHERE state = 'pending';

-- Hot small tables: vacuum by count, not by share of a size that is always small.
ALTER TABLE queued SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
ALTER TABLE delayed SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000);
ALTER TABLE ready SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
ALTER TABLE lease SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
